import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AgentEvent, DialogAnswer, Image, ReturnedMessage, SessionInfo } from './events.ts';
import type { Report } from './extension.ts';
import { historyEvents } from './history.ts';
import { describeExit, Pi, PiError } from './pi.ts';
import type { PiCommand, PiExit } from './pi.ts';
import { ownPi } from './pi-command.ts';
import { EXTENSION_NAME, Records } from './records.ts';
import { RetrySequence } from './retry.ts';
import { EventStream } from './stream.ts';

export { PiError } from './pi.ts';
export type * from './events.ts';

export interface AgentOptions {
	/** The folder Pi works in. Default: this process's own. */
	cwd?: string;
	/** Default: this process's own environment. */
	env?: NodeJS.ProcessEnv;
	/** Which Pi. Default: the one of this package. */
	pi?: PiCommand;
	/** Default: a new session. */
	session?: { open: string } | 'continue' | 'unsaved';
	/** Further flags for Pi, for example `['--model', 'sonnet:high']`. */
	flags?: string[];
}

export interface PromptOptions {
	images?: Image[];
	/**
	 * What to do while Pi works: `steer` delivers the text before its next model request,
	 * `followUp` when it would otherwise stop. Default: `steer`.
	 */
	when?: 'steer' | 'followUp';
	/** Comes back in the `user_message` event that delivers the text. */
	promptId?: string;
}

/** Whether a text began a run, waits in Pi's queue, or was a command that is done already. */
export type Disposition = 'started' | 'queued' | 'handled';

export interface AgentState extends SessionInfo {
	/** Pi is busy: a request, a tool, a wait before a retry, a compaction. */
	busy: boolean;
	/** What {@link Agent.setAutoRetry} sets; false from the start when Pi's settings say so. */
	autoRetry: boolean;
	/** How many queued messages wait. */
	queued: number;
}

const EXTENSION = fileURLToPath(new URL('./extension.ts', import.meta.url));
const START_TIMEOUT_MS = 30_000;

/**
 * Starts a Pi and resolves when it answers.
 * @throws {PiError} when it cannot be started, ends at once, does not answer within 30 s or is too
 * old; the message says what to do and holds the end of its stderr
 */
export async function createAgent(options: AgentOptions = {}): Promise<Agent> {
	const cwd = options.cwd ?? process.cwd();
	if (!existsSync(cwd)) throw new PiError(`The folder ${cwd} does not exist.`);

	const { command, args } = options.pi ?? ownPi();
	const { session, flags = [] } = options;
	const sessionFlags =
		session === undefined
			? []
			: session === 'continue'
				? ['--continue']
				: session === 'unsaved'
					? ['--no-session']
					: ['--session', session.open];

	const agent = new Agent(
		{ command, args: [...args, '--mode', 'rpc', '-e', EXTENSION, ...sessionFlags, ...flags] },
		cwd,
		options.env ?? process.env,
	);
	await agent.ready();
	return agent;
}

/**
 * One Pi, under the contract "Reliability & error recovery": a stream of events for each prompt,
 * and a method for everything a person can ask of it.
 */
export class Agent {
	/** Resolves, never rejects, when the Pi process has ended. */
	readonly exited: Promise<PiExit>;

	#pi: Pi;
	#cwd: string;
	#records: Records;
	#retry: RetrySequence;
	#report: Report | undefined;
	#session: SessionInfo | undefined;
	#listeners = new Set<(event: AgentEvent) => void>();
	/** Texts submitted and not yet delivered, to tell which prompt a message is. */
	#submitted: { text: string; promptId: string }[] = [];
	/** Whether the last run ended with a failed request. */
	#failed = false;
	#running = false;
	#userCommands = new Set<string>();

	/** Use {@link createAgent}. */
	constructor(pi: PiCommand, cwd: string, env: NodeJS.ProcessEnv) {
		this.#cwd = cwd;
		this.#retry = new RetrySequence(
			(event) => this.#emit(event),
			() => this.#cancelWait(),
			() => void this.#pi.ask({ type: 'abort' }).catch(ignoreGone),
		);
		const owner = this;
		this.#records = new Records({
			emit: (event) => this.#emit(event),
			retry: this.#retry,
			report: (report) => this.#reported(report),
			sessionChanged: (change) => this.#sessionChanged(change),
			takePromptId: (text) => this.#takePromptId(text),
			get offInPi() {
				return owner.#offInPi;
			},
		});
		this.#pi = new Pi(pi, { cwd, env, onrecord: (record) => this.#records.apply(record) });
		this.exited = this.#pi.exited;
		void this.exited.then((exit) => this.#emit({ type: 'exit', description: describeExit(exit) }));
	}

	get pid() {
		return this.#pi.pid;
	}

	/** Resolves when Pi answers for the first time; see {@link createAgent} for what it throws. */
	async ready() {
		let timer: NodeJS.Timeout | undefined;
		const late = new Promise<never>((_resolve, reject) => {
			timer = setTimeout(() => {
				const seconds = START_TIMEOUT_MS / 1000;
				reject(
					new PiError(
						`Pi did not answer within ${seconds} s of its start. Does the command given with --pi run Pi, without asking for a password?`,
					),
				);
			}, START_TIMEOUT_MS);
		});
		try {
			await Promise.race([this.#refreshSession(), late]);
			if (!this.#report) {
				throw new PiError(
					'Pi started, but without the extension that Holdfast needs. It is probably too old: Holdfast needs Pi 1.6 or later.',
				);
			}
		} catch (error) {
			this.#pi.kill();
			const { stderr } = await this.exited;
			if (error instanceof PiError && stderr && !error.message.includes(stderr)) {
				throw new PiError(`${error.message}\nIts last words:\n${stderr}`);
			}
			throw error;
		} finally {
			clearTimeout(timer);
		}
	}

	/**
	 * Sends a prompt; streams everything from its acceptance to `agent_settled`, over any number
	 * of retries, tools and queued messages. Leaving the loop early leaves Pi at work.
	 * The stream throws a {@link PiError} when Pi refuses the prompt or ends.
	 */
	prompt(text: string, options: PromptOptions = {}): EventStream<AgentEvent> {
		let accepted = false;
		const unsubscribe = this.subscribe((event) => {
			if (event.type === 'exit') return finish(new PiError(event.description));
			if (!accepted) return;
			stream.push(event);
			if (event.type === 'agent_settled') finish();
		});
		const stream = new EventStream<AgentEvent>(unsubscribe);
		const finish = (error?: Error) => {
			unsubscribe();
			stream.end(error);
		};

		this.#submit(text, options, (disposition) => {
			accepted = true;
			if (disposition === 'handled') finish();
		}).catch(finish);
		return stream;
	}

	/**
	 * Sends a prompt without a stream of its own.
	 * @throws {PiError} in Pi's words when it refuses
	 */
	submit(text: string, options: PromptOptions = {}): Promise<Disposition> {
		return this.#submit(text, options);
	}

	/** Queues a text to be delivered before Pi's next model request. */
	steer(text: string, options: Omit<PromptOptions, 'when'> = {}) {
		return this.submit(text, { ...options, when: 'steer' });
	}

	/** Queues a text to be delivered when Pi would otherwise stop. */
	followUp(text: string, options: Omit<PromptOptions, 'when'> = {}) {
		return this.submit(text, { ...options, when: 'followUp' });
	}

	/** Takes all queued messages back. They come as a `queue_returned` event too. */
	async clearQueue(): Promise<ReturnedMessage[]> {
		let messages: ReturnedMessage[] = [];
		await this.#pi.ask({ type: 'clear_queue' }, undefined, ({ steering, followUp }) => {
			messages = [...steering, ...followUp].map((text) => ({ id: randomUUID(), text }));
			for (const { text } of messages) this.#takePromptId(text);
			if (messages.length > 0) this.#emit({ type: 'queue_returned', messages });
		});
		return messages;
	}

	/**
	 * Ends the run. Queued messages come back instead of running later. `agent_settled` tells that
	 * it is so; the promise resolves at about the same time.
	 */
	async abort() {
		this.#retry.ask('stop');
		await Promise.all([this.clearQueue(), this.#pi.ask({ type: 'abort' })]);
	}

	/**
	 * Switches automatic retries on or off for this agent only, until changed; the user's settings
	 * stay as they are. A wait under way goes on.
	 * Contract: "Disabling auto-retry".
	 * @throws {PiError} when asked to switch on what Pi's own settings switch off
	 */
	setAutoRetry(enabled: boolean): Promise<void> {
		if (enabled && this.#offInPi) {
			return Promise.reject(
				new PiError(
					'Retries are switched off in Pi\'s settings ("retry": { "enabled": false } in settings.json of the agent folder or of the project), and only a change there can switch them on.',
				),
			);
		}
		this.#retry.enabled = enabled;
		this.#emit({ type: 'auto_retry_changed', enabled });
		return Promise.resolve();
	}

	/**
	 * Cancels the wait before a retry, for good: queued messages come back instead of starting a
	 * new request. A no-op when nothing waits. Contract: "Aborting a retry in progress".
	 */
	async abortRetry(): Promise<ReturnedMessage[]> {
		if (!this.#retry.ask('cancel')) return [];
		return this.#cancelWait();
	}

	/** Ends the wait before a retry by sending the request now. A no-op when nothing waits. */
	async retryNow() {
		if (!this.#retry.ask('skip')) return;
		await this.#tellExtension('continue');
		await this.#pi.ask({ type: 'abort_retry' });
	}

	/**
	 * Sends the failed request of the last run again: no new message of the user, finished tools
	 * are not run again, the failed answer is not part of it.
	 * @throws {PiError} when Pi works, or the last run did not fail
	 */
	async retry() {
		if (this.#running) throw new PiError('Pi is at work; there is nothing to try again.');
		if (!this.#failed)
			throw new PiError('The last run did not fail; there is nothing to try again.');
		await this.#tellExtension('again');
	}

	/**
	 * Stops one running bash command with all its children, or all running ones; Pi goes on with
	 * the next step of its turn. A no-op when it does not run. Contract: "Aborting a bash command".
	 * @throws {PiError} when another Pi extension brings its own bash tool
	 */
	async abortBash(toolCallId?: string) {
		if (
			toolCallId === undefined ? this.#userCommands.size > 0 : this.#userCommands.has(toolCallId)
		) {
			await this.#pi.ask({ type: 'abort_bash' });
			if (toolCallId !== undefined) return;
		}
		if (!this.#report?.stopsCommands) {
			throw new PiError(
				'Another Pi extension brings its own bash tool, so a single command cannot be stopped here. "Stop" ends the run with all its commands.',
			);
		}
		await this.#tellExtension(toolCallId === undefined ? 'stop' : `stop ${toolCallId}`);
	}

	/** Runs a command of the person (`!command`); its output goes to the model with the next prompt. */
	async bash(command: string, toolCallId: string = randomUUID()) {
		const call = { toolCallId, toolName: 'bash' };
		this.#userCommands.add(toolCallId);
		this.#emit({ type: 'tool_start', ...call, args: { command }, by: 'user' });
		try {
			await this.#pi.ask({ type: 'bash', command }, toolCallId, (result) => {
				const { exitCode, cancelled, output } = result;
				this.#emit({
					type: 'tool_end',
					...call,
					text: output,
					images: [],
					isError: cancelled || exitCode !== 0,
					outcome: cancelled ? 'stopped' : exitCode === 0 ? 'done' : 'failed',
					...(exitCode === undefined ? {} : { exitCode }),
				});
			});
		} finally {
			this.#userCommands.delete(toolCallId);
		}
	}

	/** Answers a dialog; Pi goes on. */
	answer(dialogId: string, answer: DialogAnswer) {
		this.#pi.reply({ type: 'extension_ui_response', id: dialogId, ...answer });
		this.#emit({ type: 'dialog_closed', dialogId });
	}

	async state(): Promise<AgentState> {
		const pi = await this.#refreshSession();
		return {
			...this.#session!,
			busy: pi.isStreaming || pi.isCompacting,
			autoRetry: this.#retry.enabled,
			queued: pi.pendingMessageCount,
		};
	}

	/** What the session held when it was opened, as events; see {@link historyEvents}. */
	async history(): Promise<AgentEvent[]> {
		const { entries, leafId } = await this.#pi.ask({ type: 'get_entries' });
		return historyEvents(entries, leafId);
	}

	/** The models that can be used, as `provider/id`. Empty when no provider is configured. */
	async models(): Promise<string[]> {
		const { models } = await this.#pi.ask({ type: 'get_available_models' });
		return models.map(({ provider, id }) => `${provider}/${id}`);
	}

	/** Asks for the figures of the session; they come as a `stats` event. */
	async stats() {
		const { contextUsage, cost } = await this.#pi.ask({ type: 'get_session_stats' });
		this.#emit({ type: 'stats', contextPercent: contextUsage?.percent ?? null, cost });
	}

	/** Calls the listener with every event from now on, in order; returns how to end that. */
	subscribe(listener: (event: AgentEvent) => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	/** Every event from now on, inside a prompt or not, until Pi ends or the loop is left. */
	events(): EventStream<AgentEvent> {
		const unsubscribe = this.subscribe((event) => {
			stream.push(event);
			if (event.type === 'exit') stream.end();
		});
		const stream = new EventStream<AgentEvent>(unsubscribe);
		return stream;
	}

	/** Ends Pi in good order, within 5 s at most. */
	close(): Promise<PiExit> {
		return this.#pi.close();
	}

	get #offInPi() {
		return this.#report?.retry.enabled === false;
	}

	#emit(event: AgentEvent) {
		if (event.type === 'run_start') {
			this.#running = true;
			this.#failed = false;
		} else if (event.type === 'attempt_failed') this.#failed = true;
		else if (event.type === 'message_end') this.#failed = false;
		else if (event.type === 'agent_settled') {
			this.#running = false;
			this.stats().catch(ignoreGone);
		}
		for (const listener of this.#listeners) listener(event);
	}

	async #submit(
		text: string,
		{ images = [], when = 'steer', promptId }: PromptOptions,
		accepted?: (disposition: Disposition) => void,
	): Promise<Disposition> {
		if (promptId !== undefined) this.#submitted.push({ text, promptId });
		try {
			const { disposition } = await this.#pi.ask(
				{
					type: 'prompt',
					message: text,
					streamingBehavior: when,
					...(images.length > 0
						? { images: images.map((image) => ({ type: 'image' as const, ...image })) }
						: {}),
				},
				undefined,
				(data) => accepted?.(data.disposition),
			);
			if (disposition === 'handled') this.#takePromptId(text);
			return disposition;
		} catch (error) {
			this.#takePromptId(text);
			throw error;
		}
	}

	/** Pi expands `/template` and `/skill:name`, so such a text comes back as another. */
	#takePromptId(text: string): string | undefined {
		const same = this.#submitted.findIndex((submitted) => submitted.text === text);
		const at = same >= 0 ? same : this.#submitted.findIndex((one) => one.text.startsWith('/'));
		return this.#submitted.splice(at, at < 0 ? 0 : 1)[0]?.promptId;
	}

	/** Both in one tick of Pi, or it would send the request again for what is queued. */
	async #cancelWait() {
		const [returned] = (await Promise.all([
			this.clearQueue(),
			this.#pi.ask({ type: 'abort_retry' }),
		]).catch(ignoreGone)) ?? [[]];
		return returned;
	}

	async #tellExtension(words: string) {
		await this.#pi.ask({ type: 'prompt', message: `/${EXTENSION_NAME} ${words}` });
	}

	#reported(report: Report) {
		this.#report = report;
		if (this.#offInPi) this.#retry.enabled = false;
	}

	async #refreshSession() {
		const state = await this.#pi.ask({ type: 'get_state' });
		const { model, thinkingLevel, sessionId, sessionFile, sessionName } = state;
		this.#session = {
			id: sessionId,
			cwd: this.#cwd,
			thinkingLevel,
			stopsCommands: this.#report?.stopsCommands ?? false,
			...(sessionFile === undefined ? {} : { file: sessionFile }),
			...(sessionName === undefined ? {} : { name: sessionName }),
			...(model ? { model: { provider: model.provider, id: model.id, name: model.name } } : {}),
		};
		return state;
	}

	#sessionChanged(change: { name?: string | undefined; thinkingLevel?: string }) {
		if (!this.#session) return;
		const session = { ...this.#session, ...change } as SessionInfo;
		this.#session = session;
		this.#emit({ type: 'session_changed', session });
	}
}

/** For what is sent on the way out: that Pi has ended is told by its `exit` event. */
function ignoreGone(error: unknown): undefined {
	if (!(error instanceof PiError)) throw error;
}
