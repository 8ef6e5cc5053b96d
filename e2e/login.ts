import { Logins } from '../server/logins.ts';
import { stateFolder } from '../server/state-folder.ts';

/** What a page that has logged in sends, for what is not a page. */
export interface Credentials {
	origin: string;
	cookie: string;
	key: string;
	/** For a WebSocket. */
	protocols: string[];
	headers: { Cookie: string; Origin: string };
}

/** Trades the ticket in an address that was printed, as the page does. */
export async function login(url: string): Promise<Credentials> {
	const { origin, hash } = new URL(url);
	const answer = await fetch(`${origin}/api/login`, {
		method: 'POST',
		headers: { Origin: origin },
		body: JSON.stringify({ ticket: hash.replace('#ticket=', '') }),
	});
	if (!answer.ok) throw new Error(`The log-in was refused: ${await answer.text()}`);
	const { key } = (await answer.json()) as { key: string };
	const cookie = answer.headers.get('set-cookie')!.split(';')[0]!;
	return {
		...{ origin, cookie, key },
		protocols: ['holdfast', `key.${key}`],
		headers: { Cookie: cookie, Origin: origin },
	};
}

/** The same address with a new ticket, as `npm run open` prints it. */
export function withTicket(url: string, env: NodeJS.ProcessEnv): string {
	const { origin, pathname, search } = new URL(url);
	return `${origin}${pathname}${search}#ticket=${new Logins(stateFolder(env)).ticket()}`;
}
