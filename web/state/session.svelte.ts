import type { DialogAnswer, Image } from '../../server/bridge/events.ts';
import { applyEvent, busy, emptyConversation } from '../../server/conversation.ts';
import type { Activity, ToolMessage } from '../../server/conversation.ts';
import type {
	Command,
	CommandResult,
	NumberedEvent,
	ServerMessage,
} from '../../server/protocol.ts';
import { kept } from './kept.ts';
import type { KeptPrompt } from './kept.ts';
import type { Outbox } from './outbox.ts';

/** A prompt on its way: shown at once, until the conversation holds it. */
export interface Pending {
	id: string;
	text: string;
	images: Image[];
	when: 'steer' | 'followUp';
	state: 'sending' | 'accepted' | 'failed';
	error: string;
}

/** The smallest stop that applies now, which Escape does. */
export type SmallestStop =
	{ kind: 'retry' } | { kind: 'command'; tool: ToolMessage } | { kind: 'run' } | null;

/** One session as this browser sees it. */
export class Session {
	/** Null until the proxy has named a new one. */
	id = $state<string | null>(null);
	conversation = $state(emptyConversation());
	pending = $state<Pending[]>([]);
	/** What is in the editor. */
	text = $state('');
	images = $state.raw<Image[]>([]);
	/** What was asked to stop and has not ended yet: a tool's call, `run` or `retry`. */
	stopping = $state<string[]>([]);
	/** Why the last thing asked for was refused. */
	complaint = $state<string | null>(null);
	/** What became of the last request for earlier messages. */
	fetching = $state<'done' | 'waiting' | 'failed'>('done');
	/** Why the session could not be opened. */
	refused = $state<string | null>(null);

	busy = $derived(busy(this.conversation.activity));
	running = $derived(
		this.conversation.messages.filter(
			(message): message is ToolMessage => message.kind === 'tool' && message.state === 'running',
		),
	);
	smallestStop = $derived(this.#smallestStop());

	#outbox: Outbox;
	/** The id, as soon as the proxy has named it: what is asked before that waits for it. */
	#named = Promise.withResolvers<string>();
	/** This page's clock less the proxy's, in ms, as near as is known. */
	#offset = $state(0);
	#epoch: string | undefined;
	#seq = 0;
	/** The block that the last text belongs to: more of it comes without saying so. */
	#openBlock: { type: 'text'; messageId: string; block: number } | undefined;
	#onlost: () => void;
	#askEarlier: (before: number) => boolean;

	/**
	 * `onlost` is called when an event was missed and a fresh snapshot is needed; `askEarlier` asks
	 * for messages, and says whether there was a connection for it.
	 */
	constructor(
		outbox: Outbox,
		id: string | null,
		onlost: () => void,
		askEarlier: (before: number) => boolean,
	) {
		this.#outbox = outbox;
		this.#onlost = onlost;
		this.#askEarlier = askEarlier;
		this.id = id;
		this.text = kept.text(id);
		void this.#restore();
		if (id !== null) this.#named.resolve(id);
	}

	/** Another reading of the proxy's clock: what it took on its way makes it too late, never too early. */
	seeClock(now: number) {
		this.#offset = Math.min(this.#offset, performance.now() - now);
	}

	/** What the proxy is told when the connection is back, so that it sends only what was missed. */
	get seen() {
		if (this.#epoch === undefined) return undefined;
		return { epoch: this.#epoch, after: this.#seq, from: this.conversation.earlier };
	}

	/** A moment on the proxy's clock, in ms on this page's monotonic clock. */
	pageTime(moment: number) {
		return moment + this.#offset;
	}

	/** How long ago, in ms, a moment on the proxy's clock was. */
	elapsed(since: number) {
		return performance.now() - this.pageTime(since);
	}

	welcome(message: Extract<ServerMessage, { type: 'welcome' }>) {
		this.refused = null;
		this.#setClock(message.now);
		this.#epoch = message.epoch;
		this.#seq = message.seq;
		this.#openBlock = undefined;
		this.conversation = message.conversation;
		this.stopping = [];
		this.fetching = 'done';
		this.#dropDelivered();
		if (this.id === null) {
			this.id = message.session;
			this.#moveKept(message.session);
			this.#named.resolve(this.id);
		}
	}

	resume(message: Extract<ServerMessage, { type: 'resumed' }>) {
		this.#setClock(message.now);
		this.receive(message);
		this.fetching = 'done';
	}

	/** Asks for messages that came before those held here; again, if the answer does not come. */
	fetchEarlier() {
		const { earlier } = this.conversation;
		this.fetching = this.#askEarlier(earlier) ? 'waiting' : 'failed';
	}

	receiveEarlier({ epoch, seq, before, messages }: Extract<ServerMessage, { type: 'earlier' }>) {
		// Of another moment: a greeting is under way, after which it is asked again.
		if (epoch !== this.#epoch || seq !== this.#seq) return;
		this.fetching = 'done';
		if (before !== this.conversation.earlier) return;
		this.conversation.messages.unshift(...messages);
		this.conversation.earlier -= messages.length;
	}

	receive({ events }: { events: NumberedEvent[] }) {
		for (const { seq, at, event } of events) {
			if (seq <= this.#seq) continue;
			if (seq > this.#seq + 1) return this.#onlost();
			this.#seq = seq;
			if (event.type === 'text') {
				const { type, messageId, block } = event;
				this.#openBlock = { type, messageId, block };
			}
			// The proxy keeps its snapshot with this same function.
			applyEvent(this.conversation, event, at);

			if (event.type === 'user_message') this.#dropDelivered();
			else if (event.type === 'editor_text') this.edit(event.text);
			else if (event.type === 'tool_end') this.#stopped(event.toolCallId);
			else if (event.type === 'auto_retry_end') this.#stopped('retry');
			else if (event.type === 'agent_settled' || event.type === 'exit') this.stopping = [];
		}
	}

	/** More of the block that is being written, on the connection that told of it. */
	receiveText({ seq, at, text }: Extract<ServerMessage, { type: 'text' }>) {
		if (!this.#openBlock) return;
		this.receive({ events: [{ seq, at, event: { ...this.#openBlock, text } }] });
	}

	edit(text: string) {
		this.text = text;
		kept.keepText(this.id, text);
	}

	/** Sends what is in the editor. */
	submit(when: 'steer' | 'followUp') {
		const text = this.text.trim();
		if (text === '' && this.images.length === 0) return;

		this.prompt(text, this.images, when);
		this.edit('');
		this.attach([]);
	}

	/** Puts images beside the text. */
	attach(images: Image[]) {
		this.images = images;
		void kept.keepImages(this.id, images);
	}

	prompt(text: string, images: Image[] = [], when: 'steer' | 'followUp' = 'steer') {
		const id = crypto.randomUUID();
		this.#queue({ id, session: this.id, text, images, when, error: '' });
	}

	/** Sends a prompt again that was refused. */
	again(prompt: Pending) {
		this.#drop(prompt.id);
		this.prompt(prompt.text, $state.snapshot(prompt.images), prompt.when);
	}

	/** Puts a prompt that was refused back into the editor. */
	takeBack(prompt: Pending) {
		this.#drop(prompt.id);
		this.#putBack(prompt.text, $state.snapshot(prompt.images));
	}

	abort() {
		this.stopping.push('run');
		void this.#ask({ type: 'abort' });
	}

	async abortRetry() {
		this.stopping.push('retry');
		this.#take(await this.#ask({ type: 'abort_retry' }));
	}

	retryNow() {
		void this.#ask({ type: 'retry_now' });
	}

	retry() {
		return this.#ask({ type: 'retry' });
	}

	abortBash(toolCallId: string) {
		this.stopping.push(toolCallId);
		void this.#ask({ type: 'abort_bash', toolCallId });
	}

	/** Escape. */
	stopSmallest() {
		const stop = this.smallestStop;
		if (stop?.kind === 'retry') void this.abortRetry();
		else if (stop?.kind === 'command') this.abortBash(stop.tool.call);
		else if (stop?.kind === 'run') this.abort();
	}

	setAutoRetry(enabled: boolean) {
		return this.#ask({ type: 'set_auto_retry', enabled });
	}

	async clearQueue() {
		this.#take(await this.#ask({ type: 'clear_queue' }));
	}

	/** Puts messages that were queued and came back into the editor, or drops them. */
	takeReturned(ids: string[], keep: boolean) {
		const taken = this.conversation.returned.filter(({ id }) => ids.includes(id));
		if (keep) for (const { text, images } of taken) this.#putBack(text, images);
		void this.#ask({ type: 'take_returned', ids });
	}

	answer(dialogId: string, answer: DialogAnswer) {
		void this.#ask({ type: 'answer', dialogId, answer });
	}

	restart() {
		return this.#ask({ type: 'restart' });
	}

	#setClock(now: number) {
		this.#offset = performance.now() - now;
	}

	/** What was written before a reload: sent now under its id, so that it is not run twice. */
	async #restore() {
		const [images, prompts] = await Promise.all([kept.images(this.id), kept.prompts(this.id)]);
		if (images.length > 0) this.images = [...images, ...this.images];
		for (const prompt of prompts) {
			if (!this.pending.some(({ id }) => id === prompt.id)) this.#queue(prompt);
		}
		this.#dropDelivered();
	}

	/** What was kept for a new conversation belongs to the one that has a name now. */
	#moveKept(session: string) {
		kept.keepText(null, '');
		kept.keepText(session, this.text);
		void kept.keepImages(null, []);
		void kept.keepImages(session, this.images);
		for (const { id, text, images, when, error } of $state.snapshot(this.pending)) {
			void kept.keepPrompt({ id, session, text, images, when, error });
		}
	}

	#queue(prompt: KeptPrompt) {
		const { id, text, images, when, error } = prompt;
		this.pending.push({ id, text, images, when, state: error ? 'failed' : 'sending', error });
		void kept.keepPrompt(prompt);
		if (!error) void this.#send(prompt);
	}

	async #send({ id, text, images, when }: KeptPrompt) {
		const command: Command = isCommand(text, images)
			? { type: 'bash', command: text.slice(1).trim() }
			: { type: 'prompt', text, images, when };
		try {
			const { disposition } = await this.#outbox.ask(await this.#named.promise, command, id);
			const shown = this.pending.find((one) => one.id === id);
			// A queued one is in the queue, a command runs; one that was handled leaves nothing behind.
			if (disposition !== 'started') this.#drop(id);
			else if (shown) shown.state = 'accepted';
			void kept.forgetPrompt(id);
		} catch (thrown) {
			const error = (thrown as Error).message;
			const shown = this.pending.find((one) => one.id === id);
			if (shown) Object.assign(shown, { state: 'failed', error });
			void kept.keepPrompt({ id, session: this.id, text, images, when, error });
		}
	}

	async #ask(command: Command): Promise<CommandResult> {
		this.complaint = null;
		try {
			return await this.#outbox.ask(await this.#named.promise, command);
		} catch (error) {
			this.complaint = (error as Error).message;
			this.stopping = [];
			return {};
		}
	}

	#take({ returned = [] }: CommandResult) {
		if (returned.length === 0) return;
		for (const { text, images } of returned) this.#putBack(text, images);
		void this.#ask({ type: 'take_returned', ids: returned.map(({ id }) => id) });
	}

	#putBack(text: string, images: Image[] = []) {
		if (images.length > 0) this.attach([...this.images, ...$state.snapshot(images)]);
		this.edit(this.text.trim() === '' ? text : `${this.text.trimEnd()}\n\n${text}`);
	}

	#stopped(what: string) {
		this.stopping = this.stopping.filter((one) => one !== what);
	}

	#drop(id: string) {
		void kept.forgetPrompt(id);
		this.pending = this.pending.filter((one) => one.id !== id);
	}

	#dropDelivered() {
		if (this.pending.length === 0) return;
		const { messages } = this.conversation;
		for (const { id } of [...this.pending]) {
			if (messages.some((message) => message.kind === 'user' && message.promptId === id)) {
				this.#drop(id);
			}
		}
	}

	#smallestStop(): SmallestStop {
		const activity: Activity = this.conversation.activity;
		if (activity.kind === 'waiting') return { kind: 'retry' };
		const tool = this.running.findLast(({ name }) => name === 'bash');
		if (tool) return { kind: 'command', tool };
		return this.busy ? { kind: 'run' } : null;
	}
}

/** `!` before a text makes it a command of the person. */
const isCommand = (text: string, images: Image[]) =>
	text.startsWith('!') && text.length > 1 && images.length === 0;
