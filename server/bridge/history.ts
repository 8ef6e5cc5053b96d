import type { SessionEntry } from '@earendil-works/pi-coding-agent';
import type { AgentEvent, ToolStart } from './events.ts';
import { contentImages, contentText, endOf, toolEnd } from './records.ts';
import type { ToolResult } from './tool-output.ts';

type ToolResultMessage = Extract<
	Extract<SessionEntry, { type: 'message' }>['message'],
	{ role: 'toolResult' }
>;
type NestedCall = NonNullable<ToolResultMessage['nestedCalls']>['calls'][number];

/**
 * What a session file holds of the current branch, as the events that would have told it: what a
 * page shows of an earlier session is made in the same way as what it shows of a live one.
 */
export function historyEvents(entries: SessionEntry[], leafId: string | null): AgentEvent[] {
	const events: AgentEvent[] = [];
	/** The calls without a result: Pi ended while they ran. */
	const open = new Map<string, string>();

	for (const entry of branch(entries, leafId)) {
		if (entry.type === 'compaction') {
			events.push({ type: 'compaction_start', reason: 'threshold' });
			events.push({
				type: 'compaction_end',
				reason: 'threshold',
				outcome: 'done',
				summary: entry.summary,
			});
		}
		if (entry.type !== 'message') continue;

		const { id: messageId, message } = entry;
		if (message.role === 'user') {
			const { content } = message;
			const [text, images] = [contentText(content), contentImages(content)];
			const { timestamp } = message;
			events.push({ type: 'user_message', messageId, text, images, timestamp });
		} else if (message.role === 'assistant') {
			events.push({ type: 'message_start', messageId });
			for (const [block, part] of message.content.entries()) {
				if (part.type === 'text') {
					events.push({ type: 'text', messageId, block, text: part.text });
				} else if (part.type === 'thinking') {
					events.push({ type: 'thinking', messageId, block, text: part.thinking });
				}
			}
			if (message.stopReason === 'error') {
				const errorMessage = message.errorMessage ?? 'Unknown error';
				events.push({ type: 'attempt_failed', messageId, errorMessage, retryable: false });
				continue;
			}
			events.push(endOf(message, messageId));
			for (const part of message.content) {
				if (part.type !== 'toolCall') continue;
				open.set(part.id, part.name);
				events.push(start(part.id, part.name, part.arguments, 'agent'));
			}
		} else if (message.role === 'toolResult') {
			const { toolCallId, toolName, isError, durationMs, nestedCalls } = message;
			open.delete(toolCallId);
			for (const call of nestedCalls?.calls ?? []) events.push(...nested(call));
			events.push(
				toolEnd({ toolCallId, toolName, result: message as ToolResult, isError, durationMs }),
			);
		} else if (message.role === 'bashExecution') {
			events.push(start(messageId, 'bash', { command: message.command }, 'user'));
			events.push({
				type: 'tool_end',
				toolCallId: messageId,
				toolName: 'bash',
				text: message.output,
				images: [],
				isError: message.exitCode !== 0,
				outcome: message.cancelled ? 'stopped' : message.exitCode === 0 ? 'done' : 'failed',
				...(message.exitCode === undefined ? {} : { exitCode: message.exitCode }),
			});
		}
	}

	for (const [toolCallId, toolName] of open) events.push(cutOff(toolCallId, toolName));
	return events;
}

/** A call from `codemode`, of which Pi keeps the arguments and the outcome, but not the output. */
function nested(call: NestedCall): AgentEvent[] {
	const { id, name, status, durationMs, error } = call;
	const begun: AgentEvent = {
		...start(id, name, (call.arguments ?? {}) as Record<string, unknown>, 'agent'),
		parentToolCallId: id.slice(0, id.lastIndexOf('/')),
	};
	if (status === 'unfinished') return [begun, cutOff(id, name)];

	const content = error === undefined ? [] : [{ type: 'text', text: error }];
	return [
		begun,
		toolEnd({
			toolCallId: id,
			toolName: name,
			result: { content },
			isError: status === 'error',
			durationMs,
		}),
	];
}

const cutOff = (toolCallId: string, toolName: string): AgentEvent => ({
	type: 'tool_end',
	toolCallId,
	toolName,
	text: '',
	images: [],
	isError: true,
	outcome: 'stopped',
});

const start = (
	toolCallId: string,
	toolName: string,
	args: Record<string, unknown>,
	by: 'agent' | 'user',
): ToolStart => ({ type: 'tool_start', toolCallId, toolName, args, by });

/** The entries from the root to the leaf, in order. */
function branch(entries: SessionEntry[], leafId: string | null): SessionEntry[] {
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const path: SessionEntry[] = [];
	for (let id = leafId; id !== null;) {
		const entry = byId.get(id);
		if (!entry) break;
		path.push(entry);
		id = entry.parentId;
	}
	return path.reverse();
}
