import { randomUUID } from 'node:crypto';
import type { JsonAgentSessionEvent, RpcExtensionUIRequest } from '@earendil-works/pi-coding-agent';
import type { AgentEvent, Dialog, Image, StopReason } from './events.ts';
import type { Judgement, NAME, Report } from './extension.ts';
import type { RetrySequence } from './retry.ts';
import { outputUpdate, resultImages, resultText, shellOutcome } from './tool-output.ts';
import type { ToolResult } from './tool-output.ts';

type Message = Extract<JsonAgentSessionEvent, { type: 'message_end' }>['message'];
type AssistantMessage = Extract<Message, { role: 'assistant' }>;
type MessageUpdate = Extract<JsonAgentSessionEvent, { type: 'message_update' }>;
type PiRecord =
	| JsonAgentSessionEvent
	| RpcExtensionUIRequest
	| { type: 'extension_error'; extensionPath: string; event: string; error: string }
	| { type: 'response'; command: string; success: boolean; error?: string };

/** The extension's slash command and status. Its file is for Pi to load, not for us. */
export const EXTENSION_NAME: typeof NAME = 'holdfast';

/** What the reader of records needs from the agent that owns it. */
export interface RecordsOwner {
	emit: (event: AgentEvent) => void;
	retry: RetrySequence;
	/** The extension's word about the session it runs in. */
	report(report: Report): void;
	/** The session's name or thinking level changed: `session_changed` is due. */
	sessionChanged(change: { name?: string | undefined; thinkingLevel?: string }): void;
	/** The id under which a text now delivered was submitted, if it was. */
	takePromptId(text: string): string | undefined;
	offInPi(): boolean;
}

/** Says what each record of Pi means, in events. A new kind of record is a compile error here. */
export class Records {
	#owner: RecordsOwner;
	#ids = `${randomUUID().slice(0, 8)}-`;
	#messages = 0;
	/** The answer under way. */
	#messageId = '';
	/** Pi's judgement of a failure, which the extension tells just before the message ends. */
	#retryable = false;
	#outputs = new Map<string, string>();

	constructor(owner: RecordsOwner) {
		this.#owner = owner;
	}

	apply(raw: object) {
		const record = raw as PiRecord;
		const { emit, retry } = this.#owner;

		switch (record.type) {
			case 'agent_start':
				retry.requests();
				return emit({ type: 'run_start' });
			case 'agent_end':
				return retry.runEnded(record.willRetry, this.#owner.offInPi());
			case 'agent_settled':
				retry.settled();
				return emit({ type: 'agent_settled', aborted: record.aborted });
			case 'message_start':
				return this.#startMessage(record.message);
			case 'message_update':
				return this.#updateMessage(record.assistantMessageEvent);
			case 'message_end':
				return this.#endMessage(record.message);
			case 'tool_execution_start':
			case 'tool_execution_update':
			case 'tool_execution_end':
				return this.#tool(record);
			case 'auto_retry_start':
				return retry.waits(record);
			case 'auto_retry_end':
				return retry.ended(record);
			case 'queue_update':
				return emit({
					type: 'queue_update',
					steering: [...record.steering],
					followUp: [...record.followUp],
				});
			case 'compaction_start':
				return emit({ type: 'compaction_start', reason: record.reason });
			case 'compaction_end':
				return emit({
					type: 'compaction_end',
					reason: record.reason,
					outcome: record.aborted ? 'aborted' : record.result ? 'done' : 'failed',
					...(record.result ? { summary: record.result.summary } : {}),
					...(record.errorMessage ? { errorMessage: record.errorMessage } : {}),
				});
			case 'summarization_retry_scheduled':
				return emit({ ...record });
			case 'summarization_retry_attempt_start':
				return emit({ type: 'summarization_retry_attempt_start' });
			case 'summarization_retry_finished':
				return emit({ type: 'summarization_retry_finished' });
			case 'session_info_changed':
				return this.#owner.sessionChanged({ name: record.name });
			case 'thinking_level_changed':
				return this.#owner.sessionChanged({ thinkingLevel: record.level });
			case 'bash_execution_update':
				if (record.id === undefined) return;
				return emit({
					type: 'tool_update',
					toolCallId: record.id,
					mode: 'append',
					text: record.delta,
				});
			case 'extension_ui_request':
				return this.#extensionUi(record);
			case 'extension_error':
				return emit({
					type: 'notice',
					level: 'error',
					text: `The Pi extension ${record.extensionPath} failed in ${record.event}: ${record.error}`,
				});
			case 'response':
				if (record.success || !record.error) return;
				return emit({ type: 'notice', level: 'error', text: `Pi: ${record.error}` });
			// Told by other records already.
			case 'turn_start':
			case 'turn_end':
			case 'entry_appended':
				return;
			default:
				record satisfies never;
				return emit({ type: 'pi_record', record: raw });
		}
	}

	#startMessage(message: Message) {
		if (message.role === 'user') {
			const text = contentText(message.content);
			const promptId = this.#owner.takePromptId(text);
			this.#owner.emit({
				type: 'user_message',
				messageId: this.#nextId(),
				text,
				images: contentImages(message.content),
				timestamp: message.timestamp,
				...(promptId === undefined ? {} : { promptId }),
			});
		} else if (message.role === 'assistant') {
			this.#messageId = this.#nextId();
			this.#owner.emit({ type: 'message_start', messageId: this.#messageId });
		}
	}

	#updateMessage(update: MessageUpdate['assistantMessageEvent']) {
		const { emit } = this.#owner;
		const messageId = this.#messageId;
		if (update.type === 'text_delta') {
			emit({ type: 'text', messageId, block: update.contentIndex, text: update.delta });
		} else if (update.type === 'thinking_delta') {
			emit({ type: 'thinking', messageId, block: update.contentIndex, text: update.delta });
		} else if (update.type === 'toolcall_start') {
			emit({ type: 'tool_call', toolCallId: update.id, toolName: update.toolName });
		}
	}

	#endMessage(message: Message) {
		if (message.role !== 'assistant') return;
		const { emit, retry } = this.#owner;
		const messageId = this.#messageId;

		if (message.stopReason === 'error') {
			const errorMessage = message.errorMessage ?? 'Unknown error';
			emit({ type: 'attempt_failed', messageId, errorMessage, retryable: this.#retryable });
			return retry.failed(errorMessage, this.#retryable);
		}
		emit(endOf(message, messageId));
		retry.answered(message.stopReason === 'aborted');
	}

	#tool(
		record: Extract<
			JsonAgentSessionEvent,
			{ type: 'tool_execution_start' | 'tool_execution_update' | 'tool_execution_end' }
		>,
	) {
		const { emit } = this.#owner;
		const { toolCallId, toolName } = record;
		switch (record.type) {
			case 'tool_execution_start': {
				const { parentToolCallId } = record;
				return emit({
					type: 'tool_start',
					toolCallId,
					toolName,
					args: record.args ?? {},
					by: 'agent',
					...(parentToolCallId === undefined ? {} : { parentToolCallId }),
				});
			}
			case 'tool_execution_update': {
				const output = resultText(record.partialResult);
				const update = outputUpdate(this.#outputs.get(toolCallId) ?? '', output);
				this.#outputs.set(toolCallId, output);
				return update && emit({ type: 'tool_update', toolCallId, ...update });
			}
			case 'tool_execution_end':
				this.#outputs.delete(toolCallId);
				return emit(toolEnd(record));
		}
	}

	#extensionUi(request: RpcExtensionUIRequest) {
		const { emit } = this.#owner;
		switch (request.method) {
			case 'select':
			case 'confirm':
			case 'input':
			case 'editor':
				return emit({ type: 'dialog_open', dialog: dialogOf(request) });
			case 'notify':
				return emit({ type: 'notice', level: request.notifyType ?? 'info', text: request.message });
			case 'setStatus':
				if (request.statusKey === EXTENSION_NAME) {
					const word = JSON.parse(request.statusText ?? '{}') as Report | Judgement;
					if ('retryable' in word) this.#retryable = word.retryable;
					else this.#owner.report(word);
					return;
				}
				return emit({ type: 'status', key: request.statusKey, text: request.statusText });
			case 'setWidget':
				return emit({
					type: 'status',
					key: request.widgetKey,
					text: request.widgetLines?.join('\n'),
				});
			case 'set_editor_text':
				return emit({ type: 'editor_text', text: request.text });
			// The title of a terminal, which the page does not have.
			case 'setTitle':
				return;
		}
	}

	#nextId() {
		return `${this.#ids}${++this.#messages}`;
	}
}

/** The end of a tool, from Pi's record of it or from its result in a session file. */
export function toolEnd(record: {
	toolCallId: string;
	toolName: string;
	result: ToolResult;
	isError: boolean;
	durationMs?: number | undefined;
}): Extract<AgentEvent, { type: 'tool_end' }> {
	const { toolCallId, toolName, result, isError, durationMs } = record;
	const text = resultText(result);
	const outcome =
		toolName === 'bash'
			? shellOutcome(text, isError)
			: { text, outcome: isError ? ('failed' as const) : ('done' as const) };
	return {
		type: 'tool_end',
		toolCallId,
		toolName,
		images: resultImages(result),
		isError,
		...outcome,
		...(result.details?.patch ? { patch: result.details.patch } : {}),
		...(durationMs === undefined ? {} : { durationMs }),
	};
}

/** The end of an answer that did not fail. */
export const endOf = (
	message: AssistantMessage,
	messageId: string,
): Extract<AgentEvent, { type: 'message_end' }> => ({
	type: 'message_end',
	messageId,
	text: message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
	stopReason: message.stopReason as StopReason,
	model: message.model,
});

type Content = string | { type: string; text?: string; data?: string; mimeType?: string }[];

export const contentText = (content: Content) =>
	typeof content === 'string' ? content : resultText({ content });

export const contentImages = (content: Content): Image[] =>
	typeof content === 'string' ? [] : resultImages({ content });

function dialogOf(
	request: Extract<RpcExtensionUIRequest, { method: 'select' | 'confirm' | 'input' | 'editor' }>,
): Dialog {
	const { id, method, title } = request;
	return {
		id,
		method,
		title,
		...('message' in request ? { message: request.message } : {}),
		...('options' in request ? { options: request.options } : {}),
		...('placeholder' in request && request.placeholder
			? { placeholder: request.placeholder }
			: {}),
		...('prefill' in request && request.prefill ? { prefill: request.prefill } : {}),
		...('timeout' in request && request.timeout ? { timeoutMs: request.timeout } : {}),
	};
}
