import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { AgentEvent, DialogAnswer, Image, ReturnedMessage, SessionInfo } from './events.ts';
import type { Report } from './extension.ts';
import { historyEvents } from './history.ts';
import { describeExit, Pi, PiError } from './pi.ts';
import type { PiCommand, PiExit } from './pi.ts';
import { ownPi } from './pi-command.ts';
import { EXTENSION_NAME, Records } from './records.ts';
import { EXTENSION, handExtensionOver } from './remote-extension.ts';
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
	/** `open` takes a file or an id, `id` begins one of that id when there is none. Default: new. */
	session?: { open: string } | { id: string } | 'continue' | 'unsaved';
	/** Further flags for Pi, for example `['--model', 'sonnet:high']`. */
	flags?: string[];
	/** Where that Pi finds our extension. Default: here, or where {@link handExtensionOver} puts it. */
	extension?: string;
	/** How long to wait for its first answer, in milliseconds. Default: 30,000. */
	startTimeoutMs?: number;
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

const START_TIMEOUT_MS = 30_000;
const TOO_OLD = 'It is probably too old: Holdfast needs Pi 1.6 or later.';

/**
 * Starts a Pi and resolves when it answers.
 * @throws {PiError} when it cannot be started, ends at once, does not answer within 30 s or is too
 * old; the message says what to do and holds the end of its stderr
 */
export async function createAgent(options: AgentOptions = {}): Promise<Agent> {
	const cwd = options.cwd ?? process.cwd();
	if (!existsSync(cwd)) throw new PiError(`The folder ${cwd} does not exist.`);

	const pi = options.pi ?? ownPi();
	const env = options.env ?? process.env;
	const extension = options.extension ?? EXTENSION;
	try {
		return await start(pi, cwd, env, extension, options);
	} catch (error) {
		// A Pi on another machine, or in a container, does not see our files.
		const unseen = error instanceof PiError && error.message.includes(EXTENSION);
		if (!unseen || !options.pi || options.extension) throw error;
		return start(pi, cwd, env, await handExtensionOver(pi, { cwd, env }), options);
	}
}

async function start(
	{ command, args }: PiCommand,
	cwd: string,
	env: NodeJS.ProcessEnv,
	extension: string,
	{ session, flags = [], startTimeoutMs }: AgentOptions,
): Promise<Agent> {
	const sessionFlags =
		session === undefined
			? []
			: session === 'continue'
				? ['--continue']
				: session === 'unsaved'
					? ['--no-session']
					: 'id' in session
						? ['--session-id', session.id]
						: ['--session', session.open];

	const agent = new Agent(
		{ command, args: [...args, '--mode', 'rpc', '-e', extension, ...sessionFlags, ...flags] },
		cwd,
		env,
		extension,
	);
	await agent.ready([command, ...args].join(' '), startTimeoutMs);
	return agent;
}

/**
 * One Pi, under the contract "Reliability & error recovery": a stream of events for each prompt,
 * and a method for everything a person can ask of it.
 */
export class Agent {
	/** Resolves, never rejects, when the Pi process has ended. */
	readonly exited: Promise<PiExit>;
	/** Where this Pi found our extension. */
	readonly extension: string;

	#pi: Pi;
	#cwd: string;
	#records: Records;
	#retry: RetrySequence;
	#report: Report | undefined;
	#session: SessionInfo | undefined;
	#listeners = new Set<(event: AgentEvent) => void>();
	/** Texts submitted and not yet delivered, to tell which prompt a message is. */
	#submitted: { text: string; promptId: string }[] = [];
	/** Whether the last run ended with a failed request; unknown of a session just opened. */
	#failed: boolean | undefined;
	#running = false;
	/** The running commands of the model and of the person. */
	#commands = new Set<string>();
	#userCommands = new Set<string>();
	/** The open dialogs, and when Pi will have answered them itself. */
	#dialogs = new Map<string, NodeJS.Timeout | undefined>();
	/** Prompts that Pi has not answered yet. */
	#submitting = new Set<Promise<Disposition>>();
	#aborting: Promise<unknown> | undefined;

	/** Use {@link createAgent}. */
	constructor(pi: PiCommand, cwd: string, env: NodeJS.ProcessEnv, extension: string) {
		this.extension = extension;
		this.#cwd = cwd;
		this.#retry = new RetrySequence(
			(event) => this.#emit(event),
			() => this.#cancelWait(),
			() => void this.#pi.ask({ type: 'abort' }).catch(ignoreGone),
		);
		this.#records = new Records({
			emit: (event) => this.#emit(event),
			retry: this.#retry,
			report: (report) => this.#reported(report),
			sessionChanged: (change) => this.#sessionChanged(change),
			takePromptId: (text) => this.#takePromptId(text),
			offInPi: () => this.#offInPi,
		});
		this.#pi = new Pi(pi, { cwd, env, onrecord: (record) => this.#records.apply(record) });
		this.exited = this.#pi.exited;
		void this.exited.then((exit) => this.#emit({ type: 'exit', description: describeExit(exit) }));
	}

	get pid() {
		return this.#pi.pid;
	}

	/** Resolves when Pi answers for the first time; see {@link createAgent} for what it throws. */
	async ready(commandLine: string, timeoutMs = START_TIMEOUT_MS) {
		const problem = await this.#startProblem(timeoutMs);
		if (problem === undefined) return;

		const ended = this.#pi.exit;
		this.#pi.kill();
		const { stderr } = await this.exited;
		if (ended)
			throw new PiError(describeExit(ended, `To see why, run it in a terminal: ${commandLine}`));
		throw new PiError(stderr ? `${problem}\nIts last words:\n${stderr}` : problem);
	}

	async #startProblem(timeoutMs: number): Promise<string | undefined> {
		const answered = this.#refreshSession().then(
			() =>
				this.#report
					? undefined
					: `Pi started, but without the extension that Holdfast needs. ${TOO_OLD}`,
			(refused: Error) =>
				`Pi started, but refused to tell its state: ${refused.message}. ${TOO_OLD}`,
		);
		let timer: NodeJS.Timeout | undefined;
		const late = new Promise<string>((resolve) => {
			const problem = `Pi did not answer within ${timeoutMs / 1000} s of its start. Does the command given with --pi run Pi, without asking for a password?`;
			timer = setTimeout(() => resolve(problem), timeoutMs);
		});
		return Promise.race([answered, late]).finally(() => clearTimeout(timer));
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
			messages = [...steering, ...followUp].map((text) => ({
				id: this.#takePromptId(text) ?? randomUUID(),
				text,
			}));
			if (messages.length > 0) this.#emit({ type: 'queue_returned', messages });
		});
		return messages;
	}

	/**
	 * Ends the run, and a prompt just sent. Queued messages come back instead of running later, open
	 * dialogs are cancelled. `agent_settled` tells that it is so; the promise resolves at about the
	 * same time. A prompt sent meanwhile begins a new run.
	 */
	async abort() {
		if (this.#running) this.#retry.stopping();
		// Pi lets an abort pass that comes while it still looks at a prompt.
		for (const submission of this.#submitting) {
			submission
				.then((disposition) => (disposition === 'handled' ? undefined : this.#stop()))
				.catch(ignoreGone);
		}
		const aborting = this.#stop().finally(() => {
			if (this.#aborting === aborting) this.#aborting = undefined;
		});
		this.#aborting = aborting;
		await aborting;
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
		this.#failed ??= unanswered(await this.history());
		if (!this.#failed) {
			throw new PiError('The last run did not fail; there is nothing to try again.');
		}
		// A second click before Pi has begun would send the request twice.
		this.#failed = false;
		await this.#tellExtension('again');
	}

	/**
	 * Stops one running bash command with all its children, or all running ones; Pi goes on with
	 * the next step of its turn. A no-op when it does not run. Contract: "Aborting a bash command".
	 * @throws {PiError} when another Pi extension brings its own bash tool
	 */
	async abortBash(toolCallId?: string) {
		const all = [...this.#userCommands, ...this.#commands];
		const ids = toolCallId === undefined ? all : [toolCallId];

		if (ids.some((id) => this.#userCommands.has(id))) await this.#pi.ask({ type: 'abort_bash' });
		if (!ids.some((id) => this.#commands.has(id))) return;
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

	/** Answers a dialog; Pi goes on. A no-op when it is not open any more. */
	answer(dialogId: string, answer: DialogAnswer) {
		if (!this.#dialogs.has(dialogId)) return;
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

	/** Ends Pi at once, whatever it is doing; its commands may be left running. */
	kill() {
		this.#pi.kill();
	}

	get #offInPi() {
		return this.#report?.retry.enabled === false;
	}

	#emit(event: AgentEvent) {
		this.#remember(event);
		for (const listener of this.#listeners) listener(event);
	}

	#remember(event: AgentEvent) {
		switch (event.type) {
			case 'run_start':
				this.#running = true;
				this.#failed = false;
				break;
			case 'attempt_failed':
				this.#failed = true;
				break;
			case 'message_end':
				this.#failed = false;
				break;
			case 'tool_start':
				if (event.toolName === 'bash' && event.by === 'agent') this.#commands.add(event.toolCallId);
				break;
			case 'tool_end':
				this.#commands.delete(event.toolCallId);
				break;
			case 'dialog_open': {
				const { id, timeoutMs } = event.dialog;
				const close = () => this.#emit({ type: 'dialog_closed', dialogId: id });
				this.#dialogs.set(id, timeoutMs === undefined ? undefined : setTimeout(close, timeoutMs));
				break;
			}
			case 'dialog_closed':
				clearTimeout(this.#dialogs.get(event.dialogId));
				this.#dialogs.delete(event.dialogId);
				break;
			case 'agent_settled':
				this.#running = false;
				this.#commands.clear();
				this.stats().catch(ignoreGone);
				break;
			case 'exit':
				for (const timer of this.#dialogs.values()) clearTimeout(timer);
		}
	}

	#submit(
		text: string,
		options: PromptOptions,
		accepted?: (disposition: Disposition) => void,
	): Promise<Disposition> {
		const submission = this.#send(text, options, accepted).finally(() =>
			this.#submitting.delete(submission),
		);
		this.#submitting.add(submission);
		return submission;
	}

	async #send(
		text: string,
		{ images = [], when = 'steer', promptId }: PromptOptions,
		accepted?: (disposition: Disposition) => void,
	): Promise<Disposition> {
		// Pi would keep it in the queue of the run that is being stopped, and forget it there.
		while (this.#aborting) await this.#aborting.catch(ignoreGone);

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

	/**
	 * Pi expands `/template` and `/skill:name`, so such a text comes back as another, and adds hints
	 * about images that it made smaller.
	 */
	#takePromptId(text: string): string | undefined {
		const same = this.#submitted.findIndex((submitted) => submitted.text === text);
		const at =
			same >= 0
				? same
				: this.#submitted.findIndex(
						(one) => one.text.startsWith('/') || text.startsWith(`${one.text}\n\n`),
					);
		return this.#submitted.splice(at, at < 0 ? 0 : 1)[0]?.promptId;
	}

	async #stop() {
		const stopped = Promise.all([this.clearQueue(), this.#pi.ask({ type: 'abort' })]);
		// Pi goes on to wait for these, and an aborted run with it.
		for (const dialogId of this.#dialogs.keys()) this.answer(dialogId, { cancelled: true });
		await stopped;
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
		if (!this.#offInPi || !this.#retry.enabled) return;
		this.#retry.enabled = false;
		this.#emit({ type: 'auto_retry_changed', enabled: false });
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

/** Whether the last thing said waits for an answer: the request failed, or Pi died before it came. */
function unanswered(events: AgentEvent[]): boolean {
	const last = events.findLast(({ type }) =>
		['user_message', 'message_end', 'attempt_failed', 'tool_end'].includes(type),
	);
	if (last?.type === 'message_end') return last.stopReason === 'toolUse';
	return last !== undefined;
}
