import { randomUUID } from 'node:crypto';
import { createAgent, PiError } from './bridge/agent.ts';
import type { Agent, AgentEvent, AgentOptions } from './bridge/agent.ts';
import { endProcesses } from './leftovers.ts';

/** Carried by one Pi and all that it starts, so that a dead one's shells can be told from others. */
const MARK = 'HOLDFAST_ENGINE';
const MINUTE_MS = 60_000;
const DEATHS_A_MINUTE = 3;
const KILL_AFTER_MS = 1_500;

/** What an engine tells: all that its agent says, and what becomes of the agent itself. */
export type EngineEvent =
	| AgentEvent
	/** After `exit`: what the dead Pi left running and was ended, and whether it is started again. */
	| { type: 'engine_lost'; leftovers: string[]; restarting: boolean }
	/** It could not be started again; the person may try. */
	| { type: 'engine_failed'; description: string };

/**
 * Keeps an agent at work for one session: starts it again when it dies, and stops doing so when it
 * keeps dying.
 */
export class Engine {
	#agent: Agent | undefined;
	#options: AgentOptions;
	#mark = randomUUID();
	#deaths: number[] = [];
	#closing = false;
	#onevent: (event: EngineEvent) => void = () => {};
	#onready: (agent: Agent) => Promise<void> = () => Promise.resolve();

	private constructor(options: AgentOptions) {
		this.#options = options;
	}

	/**
	 * Starts an agent.
	 * @throws {PiError} when it cannot be started
	 */
	static async start(options: AgentOptions): Promise<Engine> {
		const engine = new Engine(options);
		engine.#agent = await engine.#create(options.session);
		return engine;
	}

	/** @throws {PiError} when there is none at the moment */
	get agent(): Agent {
		if (!this.#agent) throw new PiError('Pi has ended and is not running again yet.');
		return this.#agent;
	}

	/**
	 * Tells everything from now on. `onready` is called with each new agent before anything of it is
	 * told; what was said of the session must agree with what that one holds.
	 */
	attend(onevent: (event: EngineEvent) => void, onready: (agent: Agent) => Promise<void>) {
		this.#onevent = onevent;
		this.#onready = onready;
		this.#watch(this.agent);
	}

	/** Ends Pi, however stuck it is, and starts it again on the same session. */
	async restart() {
		const agent = this.#agent;
		this.#agent = undefined;
		this.#onevent({ type: 'exit', description: 'Pi was restarted, as you asked.' });
		if (agent) {
			const kill = setTimeout(() => agent.kill(), KILL_AFTER_MS);
			await agent.close();
			clearTimeout(kill);
			await this.#endLeftovers();
		}
		this.#deaths = [];
		await this.#again();
	}

	/** Ends Pi in good order, with all it started. */
	async close() {
		this.#closing = true;
		await this.#agent?.close();
		await this.#endLeftovers();
	}

	#watch(agent: Agent) {
		agent.subscribe((event) => {
			if (agent !== this.#agent) return;
			this.#onevent(event);
			if (event.type === 'exit' && !this.#closing) void this.#died();
		});
	}

	async #died() {
		this.#agent = undefined;
		const now = performance.now();
		this.#deaths = [...this.#deaths.filter((at) => now - at < MINUTE_MS), now];
		const restarting = this.#deaths.length < DEATHS_A_MINUTE;
		this.#onevent({ type: 'engine_lost', leftovers: await this.#endLeftovers(), restarting });
		if (restarting && !this.#closing) await this.#again().catch(() => {});
	}

	/** @throws {PiError} when it cannot be started; that is told as an event too */
	async #again() {
		try {
			const session = this.#options.session;
			const agent = await this.#create(session);
			await this.#onready(agent);
			this.#agent = agent;
			this.#watch(agent);
		} catch (error) {
			this.#onevent({ type: 'engine_failed', description: (error as Error).message });
			throw error;
		}
	}

	/** From now on it is this session that is started. */
	keep(session: AgentOptions['session']) {
		this.#options = { ...this.#options, ...(session === undefined ? {} : { session }) };
	}

	#create(session: AgentOptions['session']) {
		return createAgent({
			...this.#options,
			...(session === undefined ? {} : { session }),
			env: { ...(this.#options.env ?? process.env), [MARK]: this.#mark },
		});
	}

	async #endLeftovers() {
		const ended = await endProcesses(MARK, this.#mark);
		return ended.map(({ pid, command }) => `${command || 'a process'} (${pid})`);
	}
}
