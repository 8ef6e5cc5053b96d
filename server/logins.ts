import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import {
	chmodSync,
	closeSync,
	mkdirSync,
	openSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	watch,
	writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** How long a ticket can be traded, in ms. */
const TICKET_MS = 10 * 60 * 1000;
/** How long a browser that is not used stays logged in, in s. */
const LOGIN_S = 90 * 24 * 60 * 60;

/** What a browser that logged in holds. Neither is of any use without the other. */
export interface Login {
	/** For the cookie: sent with everything, but to every port of this machine. */
	cookie: string;
	/** For the page's own storage: no page of another origin can read it. */
	key: string;
}

/**
 * Who may enter. Everything follows from one secret of 32 random bytes in a file that only its owner
 * can read: log-ins outlive a restart of the proxy, and a new secret ends them all. Tickets are
 * files named by their hash, so that each is traded once, whichever process made it.
 */
export class Logins {
	#folder: string;

	/** `folder` is Holdfast's state folder; it is made, and closed to other users. */
	constructor(folder: string) {
		this.#folder = folder;
		mkdirSync(join(folder, 'tickets'), { recursive: true, mode: 0o700 });
		for (const one of [folder, join(folder, 'tickets')]) chmodSync(one, 0o700);
		this.#makeSecret();
	}

	/** A new ticket: good once, for ten minutes. */
	ticket(): string {
		this.#forgetTickets();
		const ticket = randomBytes(32).toString('base64url');
		closeSync(openSync(this.#ticketFile(ticket), 'wx', 0o600));
		return ticket;
	}

	/**
	 * Trades a ticket for a log-in of pages of `origin`; undefined when it is not good any more. A
	 * browser that has one by its cookies gets the same again: its other tabs hold that one's key.
	 */
	trade(ticket: string, origin: string, cookies: string[] = []): Login | undefined {
		const file = this.#ticketFile(ticket);
		try {
			const { mtimeMs } = statSync(file);
			// Who removes it has it: two who come at once do not both get in.
			rmSync(file);
			if (Date.now() - mtimeMs > TICKET_MS) return undefined;
		} catch {
			return undefined;
		}
		const [known] = this.#ids(cookies, origin);
		return this.#login(known ?? randomBytes(16).toString('base64url'), origin);
	}

	/** Whether one of the cookies is of a log-in of pages of `origin`, and the key belongs to it. */
	admits(cookies: string[], key: string | undefined, origin: string): boolean {
		return key !== undefined && this.#find(cookies, key, origin) !== undefined;
	}

	/** Whether none of the cookies is of any log-in. */
	stale(cookies: string[], origin: string): boolean {
		return this.#ids(cookies, origin).length === 0;
	}

	/** The same log-in with its time begun anew, for a page that is used. */
	renew(cookies: string[], key: string, origin: string): Login | undefined {
		const id = this.#find(cookies, key, origin);
		return id === undefined ? undefined : this.#login(id, origin);
	}

	/** Ends all log-ins and all tickets. */
	lock() {
		const fresh = join(this.#folder, `secret-${process.pid}`);
		writeSecret(fresh);
		renameSync(fresh, join(this.#folder, 'secret'));
		for (const name of readdirSync(join(this.#folder, 'tickets'))) {
			rmSync(join(this.#folder, 'tickets', name), { force: true });
		}
	}

	/** Calls back when all log-ins have ended, whichever process ended them. */
	onlock(locked: () => void) {
		let known = this.#secret;
		const watcher = watch(this.#folder, () => {
			const now = this.#secret;
			if (!now.equals(known)) locked();
			known = now;
		});
		watcher.unref();
		watcher.on('error', () => watcher.close());
	}

	get #secret(): Buffer {
		try {
			return readFileSync(join(this.#folder, 'secret'));
		} catch {
			// Somebody removed it: then nobody is logged in, until `npm run open` makes another.
			return randomBytes(32);
		}
	}

	#makeSecret() {
		const file = join(this.#folder, 'secret');
		try {
			writeSecret(file);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
			const { mode, size } = statSync(file);
			if ((mode & 0o077) === 0 && size > 0) return;
			// Others could have read it, or a crash cut it short.
			this.lock();
		}
	}

	#ticketFile(ticket: string) {
		const hash = createHash('sha256').update(ticket).digest('hex');
		return join(this.#folder, 'tickets', hash);
	}

	#forgetTickets() {
		for (const name of readdirSync(join(this.#folder, 'tickets'))) {
			const file = join(this.#folder, 'tickets', name);
			try {
				if (Date.now() - statSync(file).mtimeMs > TICKET_MS) rmSync(file);
			} catch {
				// Traded since it was listed.
			}
		}
	}

	#login(id: string, origin: string): Login {
		const until = Math.floor(Date.now() / 1000) + LOGIN_S;
		const named = `${id}.${until}`;
		return {
			cookie: `${named}.${this.#sign('cookie', named, origin)}`,
			key: this.#sign('key', id, origin),
		};
	}

	/** The id of the log-in that the key and one of the cookies belong to. */
	#find(cookies: string[], key: string, origin: string): string | undefined {
		return this.#ids(cookies, origin).find((id) => same(key, this.#sign('key', id, origin)));
	}

	/** The log-ins that cookies are of. */
	#ids(cookies: string[], origin: string): string[] {
		return cookies.flatMap((cookie) => {
			const [id = '', until = '', signature = ''] = cookie.split('.');
			const good = same(signature, this.#sign('cookie', `${id}.${until}`, origin));
			return good && Number(until) * 1000 > Date.now() ? [id] : [];
		});
	}

	#sign(...parts: string[]) {
		return createHmac('sha256', this.#secret).update(JSON.stringify(parts)).digest('base64url');
	}
}

/** How long a cookie is kept, in s. */
export const COOKIE_S = LOGIN_S;

function writeSecret(file: string) {
	writeFileSync(file, randomBytes(32).toString('base64url'), { flag: 'wx', mode: 0o600 });
}

/** Compares in a time that tells nothing of how much is right. */
function same(one: string, other: string) {
	const digest = (text: string) => createHash('sha256').update(text).digest();
	return timingSafeEqual(digest(one), digest(other));
}
