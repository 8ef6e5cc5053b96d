import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PiError } from './bridge/agent.ts';
import type { AgentOptions } from './bridge/agent.ts';
import type { PiCommand } from './bridge/pi.ts';
import type { Provider } from './demo/provider.ts';
import { SCENES, startDemo } from './demo/scenes.ts';
import { Journal } from './journal.ts';
import type { SessionSummary } from './protocol.ts';
import { listSessionFiles, sessionFolder, sessionTitle } from './session-files.ts';
import { Session } from './session.ts';
import type { SessionOptions } from './session.ts';
import { OWNER, StateFolder, stateFolder } from './state-folder.ts';

export interface HubOptions {
	cwd: string;
	env: NodeJS.ProcessEnv;
	pi?: PiCommand;
	/** Whether a scripted provider answers: always, or when no real one is configured. */
	demo: 'always' | 'when needed';
	/** Called once, when it was found that no provider is configured. */
	ondemo?: () => void;
	/** How many events a session keeps for browsers that missed some. */
	ringEvents?: number;
}

const LISTED = 60;

/** The live sessions, by Pi's id: open, find, close. */
export class Hub {
	#options: HubOptions;
	#state: StateFolder;
	/** What earlier proxies left is ended before anything is started. */
	#cleaned: Promise<void>;
	#sessions = new Map<string, Promise<Session>>();
	#fresh: Promise<Session> | undefined;
	#listing: Promise<SessionSummary[]> | undefined;
	/** Where Pi found our extension, once one has started: the next need not look for it. */
	#extension: string | undefined;
	#probe: Promise<{ provider?: Provider; session?: Session }> | undefined;

	constructor(options: HubOptions) {
		this.#options = options;
		this.#state = new StateFolder(options.env);
		this.#cleaned = this.#state.endLeftovers().then((ended) => {
			for (const { pid, command } of ended) {
				console.error(`Ended what an earlier Holdfast had left running: ${command} (${pid})`);
			}
		});
	}

	/** Lets `npm run open` know where this proxy is. */
	announce(origin: string) {
		this.#state.announce(origin);
	}

	/** A new conversation. One that nobody has used is as good as new. */
	async fresh(): Promise<Session> {
		// One that is being started is waited for, and fails for all who wait.
		const waiting = await this.#fresh;
		if (waiting?.unused) return waiting;
		const starting = this.#start(undefined);
		this.#fresh = starting;
		starting.catch(() => {
			if (this.#fresh === starting) this.#fresh = undefined;
		});
		return starting;
	}

	/** The session that was last worked on in this folder, or a new one. */
	latest(): Promise<Session> {
		return this.#start('continue');
	}

	/**
	 * The session with this id, started from its file when it is not live. `seen` is whether the
	 * browser had it open before: then Pi may not have written its file yet.
	 * @throws {Error} when there is none, or another proxy holds it
	 */
	async open(id: string, seen = false): Promise<Session> {
		const live = this.#sessions.get(id);
		if (live) return live;

		const opening = this.#openFile(id, seen);
		this.#sessions.set(id, opening);
		opening.catch(() => this.#sessions.delete(id));
		return opening;
	}

	/** A live session. */
	find(id: string): Promise<Session> | undefined {
		return this.#sessions.get(id);
	}

	/** Live sessions and past ones of this folder, the latest first. Read once for all who ask at once. */
	list(): Promise<SessionSummary[]> {
		this.#listing ??= this.#list().finally(() => (this.#listing = undefined));
		return this.#listing;
	}

	async #list(): Promise<SessionSummary[]> {
		const now = Date.now();
		const live = await Promise.all(
			[...this.#sessions.values()].map((session) => session.catch(() => undefined)),
		);
		const shown = new Map<string, SessionSummary>();
		for (const session of live) {
			if (!session || session.title === '') continue;
			const { id, title, activity } = session;
			shown.set(id, { id, title: shorten(title), ageMs: 0, activity });
		}
		const folder = live.find((session) => session?.file)?.file;
		const files = folder ? await listSessionFiles(dirname(folder)) : [];
		for (const { id, file, changedAt } of files.slice(0, LISTED)) {
			const ageMs = Math.max(0, now - changedAt);
			const known = shown.get(id);
			if (known) known.ageMs = ageMs;
			else {
				const title = shorten(await sessionTitle(file));
				if (title) shown.set(id, { id, title, ageMs, activity: null });
			}
		}
		return [...shown.values()].sort((a, b) => a.ageMs - b.ageMs);
	}

	/** Ends every agent. */
	async close() {
		const sessions = await Promise.allSettled([...this.#sessions.values(), this.#fresh]);
		await Promise.allSettled(
			sessions.flatMap((session) =>
				session.status === 'fulfilled' && session.value ? [session.value.close()] : [],
			),
		);
		const probe = await this.#probe?.catch(() => undefined);
		await Promise.all([probe?.provider?.close(), probe?.session?.close()]);
		this.#state.close();
	}

	async #openFile(id: string, seen: boolean): Promise<Session> {
		const { env } = this.#options;
		const { provider } = await this.#probed();
		const files = await listSessionFiles(
			provider ? demoSessions(env) : await this.#sessionsFolder(),
		);
		const file = files.find((one) => one.id === id)?.file;
		const begun = seen || Journal.exists(this.#state.path, id);
		// Of a Pi on another machine we see no files; it finds the id itself.
		if (file === undefined && !begun && !this.#options.pi) {
			throw new PiError(`There is no session ${id} in Pi's session folder.`);
		}
		this.#state.lock(id);
		try {
			if (file === undefined) return await this.#start(begun ? { id } : { open: id });
			return await this.#start({ open: file }, await sessionFolder(file));
		} catch (error) {
			this.#state.unlock(id);
			throw error;
		}
	}

	async #sessionsFolder(): Promise<string> {
		const { env } = this.#options;
		if (env['PI_CODING_AGENT_SESSION_DIR']) return env['PI_CODING_AGENT_SESSION_DIR'];
		// Where Pi puts them is Pi's affair: ask one that runs.
		const file = (await this.fresh()).file;
		if (file === undefined) return agentSessions(env);
		const folder = dirname(file);
		return basename(dirname(folder)) === 'sessions' ? dirname(folder) : folder;
	}

	async #start(session: AgentOptions['session'], cwd = this.#options.cwd): Promise<Session> {
		await this.#cleaned;
		const { provider, session: first } = await this.#probed();
		if (session === undefined && first?.unused && this.#add(first)) return first;
		const options = { ...this.#agentOptions(provider), cwd, ...(session ? { session } : {}) };
		const started = await Session.start(options, this.#sessionOptions(provider));
		this.#extension = started.extension;
		this.#add(started);
		return started;
	}

	/** False when a session of that id is live already. */
	#add(session: Session): boolean {
		if (this.#sessions.has(session.id)) return false;
		this.#sessions.set(session.id, Promise.resolve(session));
		return true;
	}

	/** Whether the demo's provider is to answer, which the first Pi that starts can tell. */
	#probed() {
		this.#probe ??= this.#startProbe().catch((error: unknown) => {
			this.#probe = undefined;
			throw error;
		});
		return this.#probe;
	}

	async #startProbe(): Promise<{ provider?: Provider; session?: Session }> {
		if (this.#options.demo === 'when needed') {
			const session = await Session.start(
				this.#agentOptions(undefined),
				this.#sessionOptions(undefined),
			);
			if (await session.hasModel()) return { session };
			void session.close();
			this.#options.ondemo?.();
		}
		// Pi would let others in, were it not for the folder above.
		mkdirSync(demoSessions(this.#options.env), { recursive: true, mode: 0o700 });
		return { provider: await startDemo() };
	}

	#sessionOptions(provider: Provider | undefined): SessionOptions {
		const { ringEvents } = this.#options;
		return {
			state: this.#state,
			demo: provider ? SCENES.map(({ name, about }) => ({ name, about })) : null,
			...(ringEvents === undefined ? {} : { ringEvents }),
		};
	}

	#agentOptions(provider: Provider | undefined): AgentOptions {
		const extension = this.#extension;
		const { cwd, pi } = this.#options;
		const env = { ...this.#options.env, [OWNER]: this.#state.owner };
		const demo = provider
			? {
					env: { ...env, HOLDFAST_DEMO_URL: provider.url },
					flags: ['--model', 'holdfast-demo/demo', '--session-dir', demoSessions(env)],
				}
			: {};
		return { cwd, env, ...(pi ? { pi } : {}), ...(extension ? { extension } : {}), ...demo };
	}
}

const agentSessions = (env: NodeJS.ProcessEnv) =>
	join(env['PI_CODING_AGENT_DIR'] ?? join(env['HOME'] ?? homedir(), '.pi/agent'), 'sessions');

/** The demo's conversations are kept apart: `pi --continue` is not to find them. */
const demoSessions = (env: NodeJS.ProcessEnv) => join(stateFolder(env), 'demo-sessions');

const shorten = (title: string) => title.replace(/\s+/g, ' ').trim().slice(0, 120);
