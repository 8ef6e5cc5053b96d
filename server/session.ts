import { randomUUID } from 'node:crypto';
import { createAgent, PiError } from './bridge/agent.ts';
import type { Agent, AgentEvent, AgentOptions } from './bridge/agent.ts';
import { applyEvent, busy, emptyConversation } from './conversation.ts';
import type { Conversation, Scenes, SessionEvent } from './conversation.ts';
import type { Command, CommandResult, NumberedEvent, ServerMessage } from './protocol.ts';

/** Whoever is told what happens in a session. */
export interface Watcher {
	send(message: ServerMessage): void;
}

const FRAME_MS = 16;
const STOP_GRACE_MS = 1_500;

/**
 * One agent and its watchers: a snapshot, then numbered events. Text that comes in a burst is
 * gathered for a frame; what comes alone, and everything else, goes out at once.
 */
export class Session {
	readonly id: string;
	/** New at each start of the agent: numbers of an earlier one mean nothing any more. */
	epoch = randomUUID();

	#conversation: Conversation = emptyConversation();
	#agent: Agent;
	#options: AgentOptions;
	#demo: Scenes | null;
	#watchers = new Set<Watcher>();
	#seq = 0;
	#gathered: { at: number; event: SessionEvent }[] = [];
	#lastFlush = -Infinity;
	#timer: NodeJS.Timeout | undefined;
	#unsubscribe = () => {};

	private constructor(agent: Agent, id: string, options: AgentOptions, demo: Scenes | null) {
		this.#agent = agent;
		this.id = id;
		this.#options = options;
		this.#demo = demo;
	}

	/**
	 * Starts an agent and reads what its session holds.
	 * @throws {PiError} when Pi cannot be started
	 */
	static async start(options: AgentOptions, demo: Scenes | null): Promise<Session> {
		const agent = await createAgent(options);
		const { id } = await agent.state();
		const session = new Session(agent, id, options, demo);
		await session.#adopt(agent);
		return session;
	}

	get activity() {
		return this.#conversation.activity.kind;
	}

	/** Nothing was said in it, and nobody looks at it. */
	get unused() {
		return (
			this.#watchers.size === 0 &&
			this.#conversation.messages.length === 0 &&
			this.activity === 'idle'
		);
	}

	get file() {
		return this.#conversation.session?.file;
	}

	get title() {
		const { session, messages } = this.#conversation;
		const first = messages.find((message) => message.kind === 'user');
		return session?.name ?? first?.text ?? '';
	}

	/** Whether a provider is configured, so that a model can answer. */
	async hasModel() {
		return (await this.#agent.models()).length > 0;
	}

	/** Sends a snapshot now, and every event from then on. */
	watch(watcher: Watcher) {
		this.#flush();
		this.#watchers.add(watcher);
		watcher.send(this.#welcome());
	}

	leave(watcher: Watcher) {
		this.#watchers.delete(watcher);
	}

	/**
	 * Does what a person asks.
	 * @throws {PiError} in Pi's words when it refuses
	 */
	async run(command: Command, id: string): Promise<CommandResult> {
		const agent = this.#agent;
		switch (command.type) {
			case 'prompt': {
				const { text, images, when } = command;
				return { disposition: await agent.submit(text, { images, when, promptId: id }) };
			}
			case 'bash':
				agent.bash(command.command, id).catch((error: unknown) => this.#complain(error));
				return {};
			case 'abort':
				await agent.abort();
				return {};
			case 'abort_bash':
				await agent.abortBash(command.toolCallId);
				return {};
			case 'abort_retry':
				return { returned: await agent.abortRetry() };
			case 'retry_now':
				await agent.retryNow();
				return {};
			case 'retry':
				await agent.retry();
				return {};
			case 'set_auto_retry':
				await agent.setAutoRetry(command.enabled);
				return {};
			case 'clear_queue':
				return { returned: await agent.clearQueue() };
			case 'take_returned':
				this.#receive({ type: 'returned_taken', ids: command.ids });
				return {};
			case 'answer':
				agent.answer(command.dialogId, command.answer);
				return {};
			case 'restart':
				await this.#restart();
				return {};
			default:
				return command satisfies never;
		}
	}

	/** Ends the run, if there is one, and Pi. */
	async close() {
		if (busy(this.#conversation.activity)) {
			// Asked for first, so that a command ends now and Pi writes down how.
			await Promise.race([this.#agent.abort().catch(ignoreGone), later(STOP_GRACE_MS)]);
		}
		await this.#agent.close();
	}

	/** Takes an agent that is ready: what its session holds, then what it says. */
	async #adopt(agent: Agent) {
		const early: AgentEvent[] = [];
		const unsubscribe = agent.subscribe((event) => early.push(event));
		const [history, state] = await Promise.all([agent.history(), agent.state()]);
		unsubscribe();

		const conversation = emptyConversation();
		const at = performance.now();
		const { autoRetry, busy: _busy, queued: _queued, ...session } = state;
		for (const event of history) applyEvent(conversation, event, at);
		applyEvent(conversation, { type: 'engine_ready', session, autoRetry, demo: this.#demo }, at);

		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#gathered = [];
		this.#conversation = conversation;
		this.#agent = agent;
		this.#unsubscribe = agent.subscribe((event) => this.#receive(event));
		for (const event of early) this.#receive(event);
		agent.stats().catch(ignoreGone);
	}

	/** Ends Pi, however stuck it is, and starts it again on the same session file. */
	async #restart() {
		const { file } = this;
		const autoRetry = this.#conversation.autoRetry;
		this.#unsubscribe();
		await this.#agent.close();

		const session = file === undefined ? {} : { session: { open: file } };
		const agent = await createAgent({ ...this.#options, ...session });
		await agent.setAutoRetry(autoRetry).catch(ignoreGone);
		this.epoch = randomUUID();
		await this.#adopt(agent);
		this.#broadcast(this.#welcome());
	}

	#receive(event: SessionEvent) {
		const at = performance.now();
		const last = this.#gathered.at(-1)?.event;
		if (last && joinText(last, event)) return;
		this.#gathered.push({ at, event });

		const text = event.type === 'text' || event.type === 'thinking' || event.type === 'tool_update';
		if (!text || at - this.#lastFlush >= FRAME_MS) this.#flush();
		else this.#timer ??= setTimeout(() => this.#flush(), FRAME_MS - (at - this.#lastFlush));
	}

	#flush() {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		if (this.#gathered.length === 0) return;

		this.#lastFlush = performance.now();
		const events: NumberedEvent[] = this.#gathered.map((one) => ({ seq: ++this.#seq, ...one }));
		this.#gathered = [];
		for (const { event, at } of events) applyEvent(this.#conversation, event, at);
		this.#broadcast({ type: 'events', session: this.id, events });
	}

	#broadcast(message: ServerMessage) {
		for (const watcher of this.#watchers) watcher.send(message);
	}

	#welcome(): ServerMessage {
		return {
			type: 'welcome',
			session: this.id,
			epoch: this.epoch,
			seq: this.#seq,
			now: performance.now(),
			conversation: this.#conversation,
		};
	}

	#complain(error: unknown) {
		ignoreGone(error);
		this.#receive({ type: 'notice', level: 'error', text: (error as PiError).message });
	}
}

/** Adds a delta to the one before it, when they belong together. */
function joinText(last: SessionEvent, event: SessionEvent): boolean {
	if (
		(event.type === 'text' || event.type === 'thinking') &&
		last.type === event.type &&
		last.messageId === event.messageId &&
		last.block === event.block
	) {
		last.text += event.text;
		return true;
	}
	if (
		event.type === 'tool_update' &&
		last.type === 'tool_update' &&
		last.toolCallId === event.toolCallId
	) {
		if (event.mode === 'append') last.text += event.text;
		else Object.assign(last, event);
		return true;
	}
	return false;
}

const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());

/** What Pi refuses, or can no longer hear, where nothing depends on it. */
function ignoreGone(error: unknown) {
	if (!(error instanceof PiError)) throw error;
}
