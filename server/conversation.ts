import type { EngineEvent } from './engine.ts';
import type {
	AgentEvent,
	CompactionReason,
	Dialog,
	Image,
	ReturnedMessage,
	SessionInfo,
	ToolEnd,
} from './bridge/events.ts';

/** What happens to a conversation: what its agent says, and what the proxy adds. */
export type SessionEvent =
	| EngineEvent
	/** An answer is complete, and its text is what was streamed. */
	| (Omit<MessageEnd, 'text'> & { text: null })
	/** These prompts were accepted, and Pi has lost them. */
	| { type: 'prompts_lost'; ids: string[] }
	/** A browser took returned messages back into its editor. */
	| { type: 'returned_taken'; ids: string[] }
	/** The agent is ready, for the first time or again. */
	| { type: 'engine_ready'; session: SessionInfo; autoRetry: boolean; demo: Scenes | null };

type MessageEnd = Extract<AgentEvent, { type: 'message_end' }>;

/**
 * Everything that can be seen of a session: plain data, the same in the proxy and in each browser.
 * Moments (`since`) are milliseconds on the proxy's monotonic clock.
 */
export interface Conversation {
	session: SessionInfo | null;
	/** What the scripted provider plays, when it answers instead of a model. */
	demo: Scenes | null;
	autoRetry: boolean;
	/** What the person said first, so far as it names the conversation. */
	title: string;
	/** How many messages came before those that are held here. */
	earlier: number;
	messages: Message[];
	/** How many of them have an id that was made here. */
	named: number;
	activity: Activity;
	queue: QueuedMessage[];
	/** Messages that were queued and will not be sent, until somebody takes them back. */
	returned: ReturnedMessage[];
	dialogs: (Dialog & { since: number })[];
	/** When the model was last heard of. */
	heard: number;
	statuses: Record<string, string>;
	stats: { contextPercent: number | null; cost: number } | null;
}

export type Scenes = { name: string; about: string }[];

/** What is going on now. One thing at a time. */
export type Activity =
	| { kind: 'starting' }
	| { kind: 'idle' }
	| { kind: 'working'; since: number }
	| { kind: 'tools'; since: number }
	| {
			kind: 'waiting';
			since: number;
			attempt: number;
			maxAttempts: number;
			delayMs: number;
			errorMessage: string;
	  }
	| {
			kind: 'retrying';
			since: number;
			attempt: number;
			maxAttempts: number;
			errorMessage: string;
	  }
	| { kind: 'failed'; failure: Failure }
	| {
			kind: 'compacting';
			since: number;
			reason: CompactionReason;
			/** The summary's request failed and waits before it is sent again. */
			retry: { attempt: number; maxAttempts: number; errorMessage: string } | null;
			then: 'idle' | 'working';
	  }
	| { kind: 'stopped' }
	| {
			kind: 'gone';
			description: string;
			/** Whether a run was cut off. */
			interrupted: boolean;
			/** It is being started again by itself. */
			restarting: boolean;
	  };

/** A request that failed and will not be sent again unless the person says so. */
export interface Failure {
	errorMessage: string;
	/**
	 * `final` is an error that Pi does not retry; `off` one that it would, were it switched on;
	 * `interrupted` is no failure of the request: Pi itself died in mid-run.
	 */
	reason: 'exhausted' | 'cancelled' | 'off' | 'final' | 'interrupted';
	/** How many retries were made, and how long they waited together. */
	attempts: number;
	waitedMs: number;
}

export type Message =
	| {
			kind: 'user';
			id: string;
			text: string;
			images: Image[];
			promptId: string | null;
			/** Pi has died and does not remember it. */
			lost: boolean;
	  }
	| AssistantMessage
	| ToolMessage
	| RetriesMessage
	/** Something that happened, in a line: Pi ended, an extension has a word to say. */
	| { kind: 'notice'; id: string; level: 'info' | 'warning' | 'error'; text: string }
	| {
			kind: 'compaction';
			id: string;
			outcome: 'done' | 'aborted' | 'failed';
			summary: string;
			errorMessage: string;
	  };

export interface AssistantMessage {
	kind: 'assistant';
	id: string;
	blocks: { type: 'text' | 'thinking'; block: number; text: string }[];
	/** `cut` is the model's own limit, `interrupted` the death of Pi. */
	state: 'streaming' | 'done' | 'stopped' | 'cut' | 'interrupted';
}

export interface ToolMessage {
	kind: 'tool';
	id: string;
	/** Pi's `toolCallId`. Providers may use one again, for a later call. */
	call: string;
	name: string;
	args: Record<string, unknown>;
	by: 'agent' | 'user';
	parent: string | null;
	state: 'preparing' | 'running' | 'interrupted' | ToolEnd['outcome'];
	since: number;
	/** The last {@link OUTPUT_KEPT} characters of it. */
	output: string;
	images: Image[];
	exitCode: number | null;
	patch: string | null;
	durationMs: number | null;
}

/** The failed requests of one sequence, kept apart from the answer that may have followed. */
export interface RetriesMessage {
	kind: 'retries';
	id: string;
	/** `text` is what had been streamed before it broke off. */
	attempts: { errorMessage: string; text: string }[];
	waitedMs: number;
	outcome: 'open' | 'recovered' | 'failed' | 'cancelled' | 'stopped';
}

export interface QueuedMessage {
	text: string;
	when: 'steer' | 'followUp';
}

const KEEPS_DYING =
	'\nIt has ended three times within a minute, so it is not started again by itself.';

export const OUTPUT_KEPT = 64 * 1024;
const TITLE_KEPT = 300;

export function emptyConversation(): Conversation {
	return {
		session: null,
		demo: null,
		autoRetry: true,
		title: '',
		earlier: 0,
		messages: [],
		named: 0,
		activity: { kind: 'starting' },
		queue: [],
		returned: [],
		dialogs: [],
		heard: 0,
		statuses: {},
		stats: null,
	};
}

/** Signs of life from the model, or of a request that has just gone out to it. */
const HEARD = new Set<SessionEvent['type']>([
	'run_start',
	'auto_retry_attempt_start',
	'message_start',
	'text',
	'thinking',
	'tool_call',
	'tool_end',
]);

/**
 * Applies one event, in place. The proxy's snapshot and every page are made by this function
 * alone, so that a page that joined late shows what an early one shows.
 * `at` is when it happened, on the proxy's monotonic clock.
 */
export function applyEvent(conversation: Conversation, event: SessionEvent, at: number) {
	const { messages } = conversation;
	if (HEARD.has(event.type)) conversation.heard = at;

	switch (event.type) {
		case 'engine_ready':
			conversation.session = event.session;
			conversation.autoRetry = event.autoRetry;
			conversation.demo = event.demo;
			conversation.activity = afterStart(conversation.activity);
			return;
		case 'engine_lost': {
			if (event.leftovers.length > 0) {
				addNotice(
					conversation,
					'info',
					`Ended what Pi had left running: ${event.leftovers.join(', ')}`,
				);
			}
			if (conversation.activity.kind === 'gone') {
				conversation.activity.restarting = event.restarting;
				if (!event.restarting) conversation.activity.description += KEEPS_DYING;
			}
			return;
		}
		case 'engine_failed':
			conversation.activity = {
				kind: 'gone',
				description: event.description,
				interrupted: false,
				restarting: false,
			};
			return;
		case 'prompts_lost':
			for (const message of messages) {
				if (message.kind === 'user' && event.ids.includes(message.promptId ?? ''))
					message.lost = true;
			}
			return;
		case 'session_changed':
			conversation.session = event.session;
			return;
		case 'auto_retry_changed':
			conversation.autoRetry = event.enabled;
			return;
		case 'stats': {
			const { contextPercent, cost } = event;
			conversation.stats = { contextPercent, cost };
			return;
		}

		case 'user_message': {
			const { messageId: id, text, images, promptId = null } = event;
			if (conversation.title === '') conversation.title = text.slice(0, TITLE_KEPT);
			messages.push({ kind: 'user', id, text, images, promptId, lost: false });
			return;
		}
		case 'message_start':
			messages.push({ kind: 'assistant', id: event.messageId, blocks: [], state: 'streaming' });
			return;
		case 'text':
		case 'thinking': {
			const message = findStreaming(messages, event.messageId);
			if (!message) return;
			const { type, block, text } = event;
			const open = message.blocks.find((one) => one.block === block);
			if (open) open.text += text;
			else message.blocks.push({ type, block, text });
			return;
		}
		case 'message_end':
			return endMessage(messages, event);
		case 'attempt_failed':
			return failAttempt(messages, event);

		case 'tool_call':
		case 'tool_start':
		case 'tool_update':
		case 'tool_end':
			return applyTool(conversation, event, at);

		case 'auto_retry_start': {
			const { attempt, maxAttempts, delayMs, errorMessage } = event;
			const wait = { attempt, maxAttempts, delayMs, errorMessage };
			conversation.activity = { kind: 'waiting', since: at, ...wait };
			return;
		}
		case 'auto_retry_attempt_start': {
			const errorMessage = countWait(conversation, at);
			const { attempt, maxAttempts } = event;
			conversation.activity = { kind: 'retrying', since: at, attempt, maxAttempts, errorMessage };
			return;
		}
		case 'auto_retry_end':
			return endRetry(conversation, event, at);

		case 'queue_update':
			conversation.queue = [
				...event.steering.map((text) => ({ text, when: 'steer' as const })),
				...event.followUp.map((text) => ({ text, when: 'followUp' as const })),
			];
			return;
		case 'queue_returned':
			conversation.returned.push(...event.messages);
			return;
		case 'returned_taken':
			conversation.returned = conversation.returned.filter(({ id }) => !event.ids.includes(id));
			return;

		case 'run_start':
			if (conversation.activity.kind !== 'retrying') {
				conversation.activity = { kind: 'working', since: at };
			}
			return;
		case 'agent_settled':
			return settle(conversation, event.aborted);
		case 'compaction_start': {
			const then = conversation.activity.kind === 'idle' ? 'idle' : 'working';
			const { reason } = event;
			conversation.activity = { kind: 'compacting', since: at, reason, retry: null, then };
			return;
		}
		case 'compaction_end': {
			const { outcome, summary = '', errorMessage = '' } = event;
			const id = newId(conversation, 'compaction');
			messages.push({ kind: 'compaction', id, outcome, summary, errorMessage });
			const { activity } = conversation;
			if (activity.kind === 'compacting') {
				conversation.activity =
					activity.then === 'idle' ? { kind: 'idle' } : { kind: 'working', since: at };
			}
			return;
		}
		case 'summarization_retry_scheduled':
			if (conversation.activity.kind === 'compacting') {
				const { attempt, maxAttempts, errorMessage } = event;
				conversation.activity.retry = { attempt, maxAttempts, errorMessage };
			}
			return;
		case 'summarization_retry_attempt_start':
		case 'summarization_retry_finished':
			if (conversation.activity.kind === 'compacting') conversation.activity.retry = null;
			return;

		case 'dialog_open':
			conversation.dialogs.push({ ...event.dialog, since: at });
			return;
		case 'dialog_closed':
			conversation.dialogs = conversation.dialogs.filter(({ id }) => id !== event.dialogId);
			return;
		case 'notice': {
			addNotice(conversation, event.level, event.text);
			return;
		}
		case 'status':
			if (event.text === undefined) delete conversation.statuses[event.key];
			else conversation.statuses[event.key] = event.text;
			return;
		case 'exit':
			conversation.queue = [];
			conversation.dialogs = [];
			conversation.activity = {
				kind: 'gone',
				description: event.description,
				interrupted: busy(conversation.activity),
				restarting: false,
			};
			interrupt(messages, 'interrupted');
			closeRetries(messages, 'stopped');
			addNotice(conversation, 'error', event.description.split('\n')[0]!);
			return;

		// For the browser that is open, not for what a conversation looks like.
		case 'editor_text':
		case 'pi_record':
			return;
		default:
			event satisfies never;
	}
}

function afterStart(before: Activity): Activity {
	if (before.kind !== 'gone' || !before.interrupted) return { kind: 'idle' };
	const errorMessage = before.description;
	const failure = { errorMessage, reason: 'interrupted' as const, attempts: 0, waitedMs: 0 };
	return { kind: 'failed', failure };
}

function addNotice(conversation: Conversation, level: 'info' | 'warning' | 'error', text: string) {
	const id = newId(conversation, 'notice');
	conversation.messages.push({ kind: 'notice', id, level, text });
}

const newId = (conversation: Conversation, kind: Message['kind']) =>
	`${kind}-${++conversation.named}`;

function endMessage(messages: Message[], event: Extract<SessionEvent, { type: 'message_end' }>) {
	const message = findStreaming(messages, event.messageId);
	if (!message) return;

	if (event.text !== null && streamedText(message) !== event.text) {
		const thinking = message.blocks.filter(({ type }) => type === 'thinking');
		message.blocks = [...thinking, { type: 'text', block: -1, text: event.text }];
	}
	const { stopReason } = event;
	message.state = stopReason === 'aborted' ? 'stopped' : stopReason === 'length' ? 'cut' : 'done';
	if (message.blocks.length === 0) messages.splice(messages.indexOf(message), 1);
}

/** Whether the text of an answer that is complete is what was streamed of it. */
export function endsAsStreamed(
	{ messages }: Conversation,
	{ messageId, text }: { messageId: string; text: string | null },
) {
	const message = findStreaming(messages, messageId);
	return message !== undefined && streamedText(message) === text;
}

const streamedText = ({ blocks }: AssistantMessage) =>
	blocks.map(({ type, text }) => (type === 'text' ? text : '')).join('');

function failAttempt(messages: Message[], event: Extract<AgentEvent, { type: 'attempt_failed' }>) {
	const at = messages.findLastIndex((message) => isStreaming(message, event.messageId));
	// What the attempt left behind: its message, and tool calls it had not finished asking for.
	const [failed, ...rest] = at < 0 ? [] : messages.splice(at);
	messages.push(...rest.filter((one) => !(one.kind === 'tool' && one.state === 'preparing')));

	const text =
		failed?.kind === 'assistant'
			? failed.blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
			: '';
	const attempt = { errorMessage: event.errorMessage, text };
	const open = messages.at(-1);
	if (open?.kind === 'retries' && open.outcome === 'open') open.attempts.push(attempt);
	else {
		const id = `retries-${event.messageId}`;
		messages.push({ kind: 'retries', id, attempts: [attempt], waitedMs: 0, outcome: 'open' });
	}
}

function applyTool(
	conversation: Conversation,
	event: Extract<AgentEvent, { type: 'tool_call' | 'tool_start' | 'tool_update' | 'tool_end' }>,
	at: number,
) {
	const { messages } = conversation;
	let tool = messages.findLast(
		(message): message is ToolMessage =>
			message.kind === 'tool' && message.call === event.toolCallId && unfinished(message),
	);
	if (!tool && (event.type === 'tool_call' || event.type === 'tool_start')) {
		messages.push({
			kind: 'tool',
			id: newId(conversation, 'tool'),
			call: event.toolCallId,
			name: event.toolName,
			args: {},
			by: 'agent',
			parent: null,
			state: 'preparing',
			since: at,
			output: '',
			images: [],
			exitCode: null,
			patch: null,
			durationMs: null,
		});
		tool = messages.at(-1) as ToolMessage;
	}
	if (!tool) return;

	switch (event.type) {
		case 'tool_call':
			return;
		case 'tool_start':
			tool.args = event.args;
			tool.by = event.by;
			tool.parent = event.parentToolCallId ?? null;
			tool.state = 'running';
			tool.since = at;
			if (event.by === 'agent' && busy(conversation.activity)) {
				conversation.activity = { kind: 'tools', since: at };
			}
			return;
		case 'tool_update':
			tool.output = (event.mode === 'append' ? tool.output + event.text : event.text).slice(
				-OUTPUT_KEPT,
			);
			return;
		case 'tool_end':
			tool.state = event.outcome;
			tool.output = event.text.slice(-OUTPUT_KEPT);
			tool.images = event.images;
			tool.exitCode = event.exitCode ?? null;
			tool.patch = event.patch ?? null;
			tool.durationMs = event.durationMs ?? at - tool.since;
			if (conversation.activity.kind === 'tools' && !messages.some(runningForAgent)) {
				conversation.activity = { kind: 'working', since: at };
			}
			return;
	}
}

function endRetry(
	conversation: Conversation,
	event: Extract<AgentEvent, { type: 'auto_retry_end' }>,
	at: number,
) {
	countWait(conversation, at);
	const { success, reason = 'exhausted', attempt: attempts, finalError = '' } = event;

	if (success) {
		closeRetries(conversation.messages, 'recovered');
		conversation.activity = { kind: 'working', since: at };
		return;
	}
	const outcome = reason === 'cancelled' || reason === 'stopped' ? reason : 'failed';
	const closed = closeRetries(conversation.messages, outcome);
	if (reason === 'stopped') return;

	const errorMessage = closed.at(-1)?.attempts.at(-1)?.errorMessage ?? finalError;
	const waitedMs = closed.reduce((sum, retries) => sum + retries.waitedMs, 0);
	conversation.activity = { kind: 'failed', failure: { errorMessage, reason, attempts, waitedMs } };
}

/** A message delivered in mid-sequence splits it in two; both parts end together. */
function closeRetries(messages: Message[], outcome: RetriesMessage['outcome']) {
	const closed = messages.filter(isOpenRetries);
	for (const retries of closed) retries.outcome = outcome;
	return closed;
}

/** Adds the wait that ends now to its sequence; returns why it waited. */
function countWait(conversation: Conversation, at: number): string {
	const { activity } = conversation;
	if (activity.kind !== 'waiting') return '';
	const retries = conversation.messages.findLast(isOpenRetries);
	if (retries) retries.waitedMs += at - activity.since;
	return activity.errorMessage;
}

function settle(conversation: Conversation, aborted: boolean) {
	const { messages } = conversation;
	interrupt(messages, 'stopped');
	const open = closeRetries(messages, aborted ? 'stopped' : 'failed').at(-1);

	if (aborted) {
		conversation.activity = { kind: 'stopped' };
	} else if (open) {
		const errorMessage = open.attempts.at(-1)?.errorMessage ?? '';
		const failure = { errorMessage, reason: 'final' as const, attempts: 0, waitedMs: 0 };
		conversation.activity = { kind: 'failed', failure };
	} else if (conversation.activity.kind !== 'failed') {
		conversation.activity = { kind: 'idle' };
	}
}

/** Nothing of the run goes on: what was still open did not end by itself. */
function interrupt(messages: Message[], state: 'stopped' | 'interrupted') {
	for (const message of messages) {
		if (message.kind === 'assistant' && message.state === 'streaming') message.state = state;
		// A command of the person's goes on beside the run, but not after Pi.
		if (message.kind !== 'tool' || (message.by === 'user' && state === 'stopped')) continue;
		if (message.state === 'running' || message.state === 'preparing') message.state = state;
	}
}

/** Whether Pi is at something that "Stop" would end. */
export const busy = ({ kind }: Activity) =>
	kind === 'working' ||
	kind === 'tools' ||
	kind === 'waiting' ||
	kind === 'retrying' ||
	kind === 'compacting';

const runningForAgent = (message: Message) =>
	message.kind === 'tool' && message.by === 'agent' && message.state === 'running';

const isOpenRetries = (message: Message): message is RetriesMessage =>
	message.kind === 'retries' && message.outcome === 'open';

const isStreaming = (message: Message, id: string): message is AssistantMessage =>
	message.kind === 'assistant' && message.state === 'streaming' && message.id === id;

const findStreaming = (messages: Message[], id: string) =>
	messages.findLast((message): message is AssistantMessage => isStreaming(message, id));

/**
 * Whether events may still change the message. What comes before the first such stays as it is and
 * where it is, so a page need not hold it; only `prompts_lost` may say more of it.
 */
export function unfinished(message: Message): boolean {
	switch (message.kind) {
		case 'assistant':
			return message.state === 'streaming';
		case 'tool':
			return message.state === 'preparing' || message.state === 'running';
		case 'retries':
			return message.outcome === 'open';
		default:
			return false;
	}
}
