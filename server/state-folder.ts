import { randomUUID } from 'node:crypto';
import {
	closeSync,
	existsSync,
	fsyncSync,
	mkdirSync,
	openSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { endProcesses, type Leftover } from './leftovers.ts';

/** Carried by everything a proxy starts, with the proxy's own name as value. */
export const OWNER = 'HOLDFAST_OWNER';

interface Holder {
	owner: string;
	pid: number;
	/** When that process started, in the kernel's words: a pid alone may have been given again. */
	started: string;
	/** Where browsers find it, once it listens. */
	origin?: string;
}

/**
 * Holdfast's own folder, `~/.local/state/holdfast`: who runs, which sessions they hold, and what was
 * accepted and not yet done. Nothing of Pi's or the user's is in it.
 */
export class StateFolder {
	readonly path: string;
	readonly owner = randomUUID();

	constructor(env: NodeJS.ProcessEnv) {
		this.path = stateFolder(env);
		for (const name of ['owners', 'locks', 'journal']) {
			mkdirSync(join(this.path, name), { recursive: true, mode: 0o700 });
		}
		this.#write(join(this.path, 'owners', this.owner), 'wx');
	}

	/** Writes down where browsers find this proxy. */
	announce(origin: string) {
		const file = join(this.path, 'owners', this.owner);
		rmSync(file);
		this.#write(file, 'wx', { origin });
	}

	/** Ends the processes that earlier proxies, which are dead, left behind. */
	async endLeftovers(): Promise<Leftover[]> {
		const ended: Leftover[] = [];
		for (const name of readdirSync(join(this.path, 'owners'))) {
			const file = join(this.path, 'owners', name);
			const holder = read(file);
			if (!holder || alive(holder)) continue;
			ended.push(...(await endProcesses(OWNER, holder.owner)));
			rmSync(file, { force: true });
		}
		return ended;
	}

	/**
	 * Takes a session for this proxy: two that write to one session file tear it.
	 * @throws {Error} when another proxy that lives holds it
	 */
	lock(session: string) {
		const file = join(this.path, 'locks', session);
		for (let attempt = 0; attempt < 2; attempt++) {
			try {
				return this.#write(file, 'wx');
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
				const holder = read(file);
				if (holder?.owner === this.owner) return;
				if (holder && alive(holder)) {
					throw new Error(
						`This session is open in another Holdfast (process ${holder.pid}). Use it there, or stop that one first.`,
					);
				}
				rmSync(file, { force: true });
			}
		}
	}

	unlock(session: string) {
		rmSync(join(this.path, 'locks', session), { force: true });
	}

	/** Forgets this proxy, which has ended all it started. */
	close() {
		rmSync(join(this.path, 'owners', this.owner), { force: true });
	}

	#write(file: string, flag: 'wx', more: Pick<Holder, 'origin'> = {}) {
		const { owner } = this;
		const holder: Holder = { owner, pid: process.pid, started: startOf(process.pid), ...more };
		const handle = openSync(file, flag, 0o600);
		try {
			writeSync(handle, JSON.stringify(holder));
			fsyncSync(handle);
		} finally {
			closeSync(handle);
		}
	}
}

export const stateFolder = (env: NodeJS.ProcessEnv) =>
	join(env['XDG_STATE_HOME'] ?? join(env['HOME'] ?? homedir(), '.local/state'), 'holdfast');

/** Where the proxies are found that run on this state folder. */
export function runningOrigins(folder: string): string[] {
	const owners = join(folder, 'owners');
	const names = existsSync(owners) ? readdirSync(owners) : [];
	return names.flatMap((name) => {
		const holder = read(join(owners, name));
		return holder?.origin !== undefined && alive(holder) ? [holder.origin] : [];
	});
}

function read(file: string): Holder | undefined {
	try {
		return JSON.parse(readFileSync(file, 'utf8')) as Holder;
	} catch {
		// Removed meanwhile, or torn by a crash: then its writer is not alive either.
		return { owner: '', pid: -1, started: '' };
	}
}

function alive({ pid, started }: Holder): boolean {
	if (pid <= 0) return false;
	try {
		process.kill(pid, 0);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
	}
	return startOf(pid) === started;
}

/** Clock ticks after boot, from Linux; elsewhere the pid has to do. */
function startOf(pid: number): string {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
		return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
	} catch {
		return '';
	}
}
