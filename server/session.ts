import { existsSync } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { PiError } from './bridge/agent.ts';
import type { Agent, AgentEvent, AgentOptions } from './bridge/agent.ts';
import { applyEvent, busy, emptyConversation, endsAsStreamed } from './conversation.ts';
import type { Conversation, Scenes, SessionEvent } from './conversation.ts';
import { Deliveries } from './deliveries.ts';
import { Engine } from './engine.ts';
import { Gathering, type Happening } from './gathering.ts';
import type {
	ClientMessage,
	Command,
	CommandResult,
	NumberedEvent,
	ServerMessage,
} from './protocol.ts';
import { Ring } from './ring.ts';
import type { StateFolder } from './state-folder.ts';
import { pageBefore, tail } from './tail.ts';

/** What a browser saw last of a session. */
type Seen = NonNullable<Extract<ClientMessage, { type: 'hello' }>['seen']>;

interface Block {
	messageId: string;
	block: number;
}

/** Whoever is told what happens in a session. */
export interface Watcher {
	send(message: ServerMessage): void;
}

const ANSWERS_KEPT = 1_000;
const STOP_GRACE_MS = 1_500;
/** A session file that cannot grow by this much is as good as full. */
const ROOM_BYTES = 256 * 1024;

/** One agent and its watchers: a snapshot, then numbered events. */
export class Session {
	readonly id: string;
	/** New at each start of the proxy: numbers of an earlier one mean nothing any more. */
	readonly epoch = randomUUID();

	#conversation: Conversation = emptyConversation();
	#engine: Engine;
	#deliveries: Deliveries;
	#state: StateFolder;
	#demo: Scenes | null;
	#watchers = new Set<Watcher>();
	#ring: Ring;
	#seq = 0;
	#gathering = new Gathering((happenings) => this.#emit(happenings));
	/** The block of text that the browsers know to be written, so that its next words can go alone. */
	#openBlock: Block | undefined;
	#answers = new Map<string, Promise<CommandResult>>();

	private constructor(engine: Engine, id: string, options: SessionOptions) {
		this.#engine = engine;
		this.id = id;
		this.#state = options.state;
		this.#demo = options.demo;
		this.#ring = new Ring(options.ringEvents);
		this.#deliveries = new Deliveries(options.state.path, id);
	}

	/**
	 * Starts an agent and reads what its session holds.
	 * @throws {Error} when Pi cannot be started, or another proxy holds the session
	 */
	static async start(agentOptions: AgentOptions, options: SessionOptions): Promise<Session> {
		const engine = await Engine.start(agentOptions);
		try {
			const { id } = await engine.agent.state();
			options.state.lock(id);
			// Whether or not Pi has written its file by then.
			engine.keep({ id });
			const session = new Session(engine, id, options);
			await session.#adopt(engine.agent);
			engine.attend(
				(event) => session.#receive(event),
				(agent) => session.#readopt(agent),
			);
			return session;
		} catch (error) {
			await engine.close();
			throw error;
		}
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

	/** Where its Pi found our extension. */
	get extension() {
		return this.#engine.agent.extension;
	}

	get file() {
		return this.#conversation.session?.file;
	}

	get title() {
		const { session, title } = this.#conversation;
		return session?.name ?? title;
	}

	/** Whether a provider is configured, so that a model can answer. */
	async hasModel() {
		return (await this.#engine.agent.models()).length > 0;
	}

	/**
	 * Sends the events that the watcher missed, or a snapshot, and every event from then on. Decided
	 * and subscribed in one tick, so that nothing falls between.
	 */
	watch(watcher: Watcher, seen: Seen | undefined) {
		this.#gathering.flush(Math.round(performance.now()));
		// A newcomer has not been told which block is open.
		this.#openBlock = undefined;
		this.#watchers.add(watcher);
		const missed = seen?.epoch === this.epoch ? this.#ring.after(seen.after) : undefined;
		watcher.send(missed ? this.#resume(missed) : this.#welcome(seen?.from));
	}

	/** Sends messages that the watcher's snapshot had left out. */
	sendEarlier(watcher: Watcher, before: number) {
		this.#gathering.flush(Math.round(performance.now()));
		const { id: session, epoch } = this;
		const messages = pageBefore(this.#conversation, before);
		watcher.send({ type: 'earlier', session, epoch, seq: this.#seq, before, messages });
	}

	leave(watcher: Watcher) {
		this.#watchers.delete(watcher);
	}

	/**
	 * Does what a person asks. What has this id and ran already is not run again: its answer is.
	 * @throws {Error} in Pi's words when it refuses, or when it cannot be kept safe
	 */
	async run(command: Command, id: string): Promise<CommandResult> {
		const known = this.#answers.get(id);
		if (known) return this.#holdsPrompt(id) ? { disposition: 'known' } : known;

		const answer = this.#run(command, id);
		this.#answers.set(id, answer);
		if (this.#answers.size > ANSWERS_KEPT) {
			this.#answers.delete(this.#answers.keys().next().value!);
		}
		return answer;
	}

	/** A page that comes back with a prompt may not be told of its delivery, so long ago was that. */
	#holdsPrompt(id: string) {
		return this.#conversation.messages.some(
			(message) => message.kind === 'user' && message.promptId === id,
		);
	}

	async #run(command: Command, id: string): Promise<CommandResult> {
		// Done by an earlier proxy, or lost with it: then it was offered back.
		if (this.#deliveries.knows(id)) return { disposition: 'known' };
		const agent = () => this.#engine.agent;

		switch (command.type) {
			case 'prompt':
				return this.#prompt(command, id);
			case 'bash':
				agent();
				this.#deliveries.accept(id, '', []);
				this.#deliveries.done(id);
				agent()
					.bash(command.command, id)
					.catch((error: unknown) => this.#complain(error));
				return {};
			case 'abort':
				await agent().abort();
				return {};
			case 'abort_bash':
				await agent().abortBash(command.toolCallId);
				return {};
			case 'abort_retry':
				return { returned: await agent().abortRetry() };
			case 'retry_now':
				await agent().retryNow();
				return {};
			case 'retry':
				await agent().retry();
				return {};
			case 'set_auto_retry':
				await agent().setAutoRetry(command.enabled);
				return {};
			case 'clear_queue':
				return { returned: await agent().clearQueue() };
			case 'take_returned':
				for (const taken of command.ids) this.#deliveries.done(taken);
				this.#receive({ type: 'returned_taken', ids: command.ids });
				return {};
			case 'answer':
				agent().answer(command.dialogId, command.answer);
				return {};
			case 'restart':
				await this.#engine.restart();
				return {};
			default:
				return command satisfies never;
		}
	}

	/** Ends the run, if there is one, and Pi. */
	async close() {
		if (busy(this.#conversation.activity)) {
			// Asked for first, so that a command ends now and Pi writes down how.
			const stopped = this.#engine.agent.abort().catch(ignoreGone);
			await Promise.race([stopped, later(STOP_GRACE_MS)]);
		}
		await this.#engine.close();
		this.#state.unlock(this.id);
	}

	async #prompt(command: Extract<Command, { type: 'prompt' }>, id: string): Promise<CommandResult> {
		const { text, images, when } = command;
		const { agent } = this.#engine;
		await this.#makeSureOfRoom();
		this.#deliveries.accept(id, text, images);
		try {
			const disposition = await agent.submit(text, { images, when, promptId: id });
			if (disposition === 'handled') this.#deliveries.done(id);
			return { disposition };
		} catch (error) {
			// Refused, and the page says so and keeps the text. If Pi died, it is offered back instead.
			if (this.#conversation.activity.kind !== 'gone') this.#deliveries.done(id);
			throw error;
		}
	}

	/** @throws {Error} when Pi could not write down what would be said */
	async #makeSureOfRoom() {
		const file = this.file;
		if (file === undefined) return;
		const folder = dirname(file);
		// A session folder on another machine is not ours to look at.
		if (!existsSync(folder)) return;
		const { bavail, bsize } = await statfs(folder);
		if (bavail * bsize < ROOM_BYTES) {
			throw new Error(
				`The disk that holds Pi's sessions (${folder}) is full. Nothing was sent; make room and send it again.`,
			);
		}
		const written = existsSync(file) ? file : folder;
		await access(written, constants.W_OK).catch(() => {
			throw new Error(
				`Pi cannot write to ${written}. Nothing was sent; mend its permissions and send it again.`,
			);
		});
	}

	/** What the session holds, and what an earlier proxy had accepted for it. */
	async #adopt(agent: Agent) {
		const [history, state] = await Promise.all([agent.history(), agent.state()]);
		const { autoRetry, busy: _busy, queued: _queued, ...session } = state;
		const at = performance.now();
		for (const event of history) applyEvent(this.#conversation, event, at);
		const demo = this.#demo;
		applyEvent(this.#conversation, { type: 'engine_ready', session, autoRetry, demo }, at);
		this.#offerBack(history);
		agent.stats().catch(ignoreGone);
	}

	/** A new agent in the place of one that died: the conversation stays as it was seen. */
	async #readopt(agent: Agent) {
		await agent.setAutoRetry(this.#conversation.autoRetry).catch(ignoreGone);
		const [history, state] = await Promise.all([agent.history(), agent.state()]);
		const { autoRetry, busy: _busy, queued: _queued, ...session } = state;
		this.#receive({ type: 'engine_ready', session, autoRetry, demo: this.#demo });
		this.#offerBack(history);
		agent.stats().catch(ignoreGone);
	}

	/** Prompts that were accepted and that Pi does not hold belong to the person again. */
	#offerBack(history: AgentEvent[]) {
		const lost = this.#deliveries.lost(history);
		if (lost.length === 0) return;
		this.#receive({ type: 'prompts_lost', ids: lost.map(({ id }) => id) });
		const offered = new Set(this.#conversation.returned.map(({ id }) => id));
		const messages = lost.filter(({ id }) => !offered.has(id));
		if (messages.length > 0) this.#receive({ type: 'queue_returned', messages });
	}

	#receive(event: SessionEvent) {
		const at = Math.round(performance.now());
		this.#deliveries.follow(event, this.file);
		if (event.type === 'queue_returned') this.#deliveries.addImages(event.messages);
		this.#gathering.add(event, at);
	}

	#emit(happenings: Happening[]) {
		const events = happenings.map(({ at, event }): NumberedEvent => {
			const numbered = { seq: ++this.#seq, at, event: this.#shortened(event) };
			applyEvent(this.#conversation, numbered.event, at);
			this.#ring.push(numbered);
			return numbered;
		});
		this.#broadcast(this.#framed(events));
	}

	/** The words of the block that is being written go without saying whose they are. */
	#framed(events: NumberedEvent[]): ServerMessage {
		const open = this.#openBlock;
		const last = events.findLast(({ event }) => event.type === 'text');
		if (last?.event.type === 'text') this.#openBlock = last.event;
		return events.length === 1 && last?.event.type === 'text' && sameBlock(open, last.event)
			? { type: 'text', seq: last.seq, at: last.at, text: last.event.text }
			: { type: 'events', session: this.id, events };
	}

	/** Without what the browsers have seen already. */
	#shortened(event: SessionEvent): SessionEvent {
		return event.type === 'message_end' && endsAsStreamed(this.#conversation, event)
			? { ...event, text: null }
			: event;
	}

	#broadcast(message: ServerMessage) {
		for (const watcher of this.#watchers) watcher.send(message);
	}

	#welcome(from: number | undefined): ServerMessage {
		const conversation = tail(this.#conversation, from);
		return { ...this.#greeting(), type: 'welcome', conversation };
	}

	#resume(events: NumberedEvent[]): ServerMessage {
		return { ...this.#greeting(), type: 'resumed', events };
	}

	#greeting() {
		return { session: this.id, epoch: this.epoch, seq: this.#seq, now: performance.now() };
	}

	#complain(error: unknown) {
		ignoreGone(error);
		this.#receive({ type: 'notice', level: 'error', text: (error as PiError).message });
	}
}

export interface SessionOptions {
	state: StateFolder;
	/** What the demo plays, when it answers instead of a model. */
	demo: Scenes | null;
	/** How many events are kept for browsers that missed some. */
	ringEvents?: number;
}

const sameBlock = (one: Block | undefined, other: Block) =>
	one?.messageId === other.messageId && one.block === other.block;

const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());

/** What Pi refuses, or can no longer hear, where nothing depends on it. */
function ignoreGone(error: unknown) {
	if (!(error instanceof PiError)) throw error;
}
