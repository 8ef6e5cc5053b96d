import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AgentEvent, Image } from './bridge/events.ts';
import { applyEvent, emptyConversation, OUTPUT_KEPT } from './conversation.ts';
import type { Conversation, SessionEvent } from './conversation.ts';
import { pageBefore, tail } from './tail.ts';

const play = (events: SessionEvent[], conversation = emptyConversation(), from = 0) => {
	events.forEach((event, index) =>
		applyEvent(conversation, structuredClone(event), (from + index) * 10),
	);
	return conversation;
};
const wire = (conversation: Conversation) =>
	JSON.parse(JSON.stringify(conversation)) as Conversation;

const id = fc.constantFrom('a', 'b', 'c');
const text = fc.string({ maxLength: 6 });
const event: fc.Arbitrary<SessionEvent> = fc.oneof(
	fc.constant<AgentEvent>({ type: 'run_start' }),
	fc.record({
		type: fc.constant('user_message' as const),
		messageId: id,
		text,
		images: fc.constant<Image[]>([]),
		promptId: id,
	}),
	fc.record({ type: fc.constant('prompts_lost' as const), ids: fc.array(id, { maxLength: 2 }) }),
	fc.record({ type: fc.constant('message_start' as const), messageId: id }),
	fc.record({
		type: fc.constantFrom('text' as const, 'thinking' as const),
		messageId: id,
		block: fc.nat(2),
		text,
	}),
	fc.record({
		type: fc.constant('message_end' as const),
		messageId: id,
		text,
		stopReason: fc.constantFrom('stop' as const, 'aborted' as const, 'length' as const),
		model: fc.constant('m'),
	}),
	fc.record({
		type: fc.constant('attempt_failed' as const),
		messageId: id,
		errorMessage: text,
		retryable: fc.boolean(),
	}),
	fc.record({
		type: fc.constant('tool_call' as const),
		toolCallId: id,
		toolName: fc.constant('bash'),
	}),
	fc.record({
		type: fc.constant('tool_start' as const),
		toolCallId: id,
		toolName: fc.constant('bash'),
		args: fc.constant({ command: 'true' }),
		by: fc.constantFrom('agent' as const, 'user' as const),
	}),
	fc.record({
		type: fc.constant('tool_update' as const),
		toolCallId: id,
		mode: fc.constantFrom('append' as const, 'replace' as const),
		text,
	}),
	fc.record({
		type: fc.constant('tool_end' as const),
		toolCallId: id,
		toolName: fc.constant('bash'),
		text,
		images: fc.constant<Image[]>([]),
		isError: fc.boolean(),
		outcome: fc.constantFrom('done' as const, 'failed' as const, 'stopped' as const),
	}),
	fc.record({
		type: fc.constant('auto_retry_start' as const),
		attempt: fc.nat(3),
		maxAttempts: fc.constant(3),
		delayMs: fc.constant(2_000),
		errorMessage: text,
	}),
	fc.record({
		type: fc.constant('auto_retry_attempt_start' as const),
		attempt: fc.nat(3),
		maxAttempts: fc.constant(3),
	}),
	fc.record({
		type: fc.constant('auto_retry_end' as const),
		success: fc.boolean(),
		attempt: fc.nat(3),
		finalError: text,
		reason: fc.constantFrom(
			'exhausted' as const,
			'cancelled' as const,
			'off' as const,
			'stopped' as const,
		),
	}),
	fc.record({
		type: fc.constant('queue_update' as const),
		steering: fc.array(text, { maxLength: 2 }),
		followUp: fc.array(text, { maxLength: 2 }),
	}),
	fc.record({
		type: fc.constant('queue_returned' as const),
		messages: fc.array(fc.record({ id, text }), { maxLength: 2 }),
	}),
	fc.record({ type: fc.constant('returned_taken' as const), ids: fc.array(id, { maxLength: 2 }) }),
	fc.record({ type: fc.constant('agent_settled' as const), aborted: fc.boolean() }),
	fc.record({
		type: fc.constant('compaction_start' as const),
		reason: fc.constantFrom('manual' as const, 'threshold' as const),
	}),
	fc.record({
		type: fc.constant('compaction_end' as const),
		reason: fc.constant('manual' as const),
		outcome: fc.constantFrom('done' as const, 'aborted' as const, 'failed' as const),
	}),
	fc.record({
		type: fc.constant('dialog_open' as const),
		dialog: fc.record({ id, method: fc.constant('confirm' as const), title: text }),
	}),
	fc.record({ type: fc.constant('dialog_closed' as const), dialogId: id }),
	fc.record({ type: fc.constant('notice' as const), level: fc.constant('info' as const), text }),
	fc.record({ type: fc.constant('exit' as const), description: text }),
);

test('a snapshot at any point, and the events after it, show what all events show', () => {
	fc.assert(
		fc.property(fc.array(event, { maxLength: 40 }), fc.nat(40), (events, cut) => {
			const at = Math.min(cut, events.length);
			const late = play(events.slice(at), wire(play(events.slice(0, at))), at);
			expect(wire(late)).toEqual(wire(play(events)));
		}),
		{ numRuns: 500 },
	);
});

test('a snapshot of the end, the events after it, and earlier messages asked for at any moment, show what all events show', () => {
	fc.assert(
		fc.property(
			fc.array(event, { minLength: 20, maxLength: 60, size: 'max' }),
			fc.nat(60),
			fc.array(fc.nat(60), { maxLength: 4 }),
			fc.integer({ min: 1, max: 4 }),
			(events, cut, asked, most) => {
				const start = Math.min(cut, events.length);
				const all = play(events.slice(0, start));
				const page = wire(tail(all, Infinity, most));
				for (let at = start; ; at++) {
					expect(page.messages).toEqual(wire(all).messages.slice(page.earlier));
					expect({ ...page, earlier: 0, messages: [] }).toEqual({ ...wire(all), messages: [] });
					if (at === events.length) break;
					if (asked.includes(at)) {
						const earlier = wire({ ...all, messages: pageBefore(all, page.earlier, most) });
						page.messages.unshift(...earlier.messages);
						page.earlier -= earlier.messages.length;
					}
					play([events[at]!], all, at);
					play([events[at]!], page, at);
				}
			},
		),
		{ numRuns: 1_000 },
	);
});

test('messages of one conversation never share an id', () => {
	const notice = { type: 'notice', level: 'info', text: 'x' } as const;
	const bash = { toolCallId: 'used-again', toolName: 'bash' };
	const start = { type: 'tool_start', ...bash, args: {}, by: 'agent' } as const;
	const end = {
		...{ type: 'tool_end', ...bash, text: 'out', images: [], isError: false, outcome: 'done' },
	} as const;
	const { messages } = play([
		{ type: 'message_start', messageId: '1' },
		notice,
		{ type: 'message_end', messageId: '1', text: '', stopReason: 'stop', model: 'm' },
		...[notice, start, end, start, end],
	] as SessionEvent[]);

	expect(new Set(messages.map(({ id }) => id)).size).toBe(4);
	expect(messages.filter(({ kind }) => kind === 'tool')).toMatchObject([
		{ state: 'done', output: 'out' },
		{ state: 'done', output: 'out' },
	]);
});

const failedTwice: AgentEvent[] = [
	{ type: 'run_start' },
	{ type: 'user_message', messageId: 'u', text: 'Go', images: [] },
	{ type: 'message_start', messageId: '1' },
	{ type: 'text', messageId: '1', block: 0, text: 'Half an' },
	{ type: 'attempt_failed', messageId: '1', errorMessage: 'terminated', retryable: true },
	{ type: 'auto_retry_start', attempt: 1, maxAttempts: 3, delayMs: 20, errorMessage: 'terminated' },
	{ type: 'auto_retry_attempt_start', attempt: 1, maxAttempts: 3 },
	{ type: 'run_start' },
	{ type: 'message_start', messageId: '2' },
	{ type: 'attempt_failed', messageId: '2', errorMessage: '429', retryable: true },
	{ type: 'auto_retry_start', attempt: 2, maxAttempts: 3, delayMs: 40, errorMessage: '429' },
];

test('failed attempts are gathered in one place, apart from the answer, with what they waited', () => {
	const conversation = play([
		...failedTwice,
		{ type: 'auto_retry_attempt_start', attempt: 2, maxAttempts: 3 },
		{ type: 'run_start' },
		{ type: 'message_start', messageId: '3' },
		{ type: 'text', messageId: '3', block: 0, text: 'Half an answer.' },
		{
			type: 'message_end',
			messageId: '3',
			text: 'Half an answer.',
			stopReason: 'stop',
			model: 'm',
		},
		{ type: 'auto_retry_end', success: true, attempt: 2 },
		{ type: 'agent_settled', aborted: false },
	]);

	expect(conversation.messages.map(({ kind }) => kind)).toEqual(['user', 'retries', 'assistant']);
	expect(conversation.messages[1]).toMatchObject({
		outcome: 'recovered',
		waitedMs: 20,
		attempts: [
			{ errorMessage: 'terminated', text: 'Half an' },
			{ errorMessage: '429', text: '' },
		],
	});
	expect(conversation.activity).toEqual({ kind: 'idle' });
});

test('a cancelled retry is a decision that waits, and says cancelled', () => {
	const conversation = play([
		...failedTwice,
		{
			type: 'auto_retry_end',
			success: false,
			attempt: 2,
			finalError: 'Retry cancelled',
			reason: 'cancelled',
		},
		{ type: 'agent_settled', aborted: false },
	]);

	expect(conversation.activity).toEqual({
		kind: 'failed',
		failure: { errorMessage: '429', reason: 'cancelled', attempts: 2, waitedMs: 20 },
	});
});

test('stopping during a wait is neither a failure nor a recovery', () => {
	const conversation = play([
		...failedTwice,
		{
			type: 'auto_retry_end',
			success: false,
			attempt: 2,
			finalError: 'Retry cancelled',
			reason: 'stopped',
		},
		{ type: 'agent_settled', aborted: true },
	]);

	expect(conversation.activity).toEqual({ kind: 'stopped' });
	expect(conversation.messages[1]).toMatchObject({ kind: 'retries', outcome: 'stopped' });
});

test('an error that is not retried becomes a decision when the run settles', () => {
	const conversation = play([
		{ type: 'run_start' },
		{ type: 'message_start', messageId: '1' },
		{ type: 'attempt_failed', messageId: '1', errorMessage: '401', retryable: false },
		{ type: 'agent_settled', aborted: false },
	]);

	expect(conversation.activity).toMatchObject({
		kind: 'failed',
		failure: { errorMessage: '401', reason: 'final' },
	});
});

test('of a long output only the end is kept', () => {
	const tool = { toolCallId: 't', toolName: 'bash' };
	const conversation = play([
		{ type: 'tool_start', ...tool, args: {}, by: 'agent' },
		{ type: 'tool_update', toolCallId: 't', mode: 'append', text: 'x'.repeat(OUTPUT_KEPT) },
		{ type: 'tool_update', toolCallId: 't', mode: 'append', text: 'the end' },
	]);

	const { output } = conversation.messages[0] as { output: string };
	expect(output).toHaveLength(OUTPUT_KEPT);
	expect(output.endsWith('xthe end')).toBe(true);
});

test('when Pi has ended, nothing still seems to run', () => {
	const conversation = play([
		{ type: 'run_start' },
		{ type: 'tool_start', toolCallId: 't', toolName: 'bash', args: {}, by: 'agent' },
		{ type: 'message_start', messageId: '1' },
		{ type: 'text', messageId: '1', block: 0, text: 'Seen' },
		{ type: 'exit', description: 'Pi was ended by SIGKILL.' },
	]);

	expect(conversation.activity).toEqual({
		kind: 'gone',
		description: 'Pi was ended by SIGKILL.',
		interrupted: true,
		restarting: false,
	});
	expect(conversation.messages).toMatchObject([
		{ state: 'interrupted' },
		{ state: 'interrupted' },
		{ kind: 'notice', text: 'Pi was ended by SIGKILL.' },
	]);
	expect(conversation.messages[1]).toMatchObject({ blocks: [{ text: 'Seen' }] });
});
