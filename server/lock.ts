/** Ends all log-ins, and every connection that stands on one: `npm run lock`. */
import { Logins } from './logins.ts';
import { stateFolder } from './state-folder.ts';

new Logins(stateFolder(process.env)).lock();
console.log(
	'All browsers are logged out. `npm run open` prints an address that lets one in again.',
);
