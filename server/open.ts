/** Prints, for each Holdfast of this user that runs, an address that lets a browser in: `npm run open`. */
import { Logins } from './logins.ts';
import { runningOrigins, stateFolder } from './state-folder.ts';

const folder = stateFolder(process.env);
const origins = runningOrigins(folder);
if (origins.length === 0) {
	console.error('No Holdfast of yours is running. `npm start` starts one, and lets you in.');
	process.exitCode = 1;
}
const logins = new Logins(folder);
for (const origin of origins) console.log(`${origin}/#ticket=${logins.ticket()}`);
