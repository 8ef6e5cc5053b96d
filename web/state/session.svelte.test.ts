import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AgentEvent } from '../../server/bridge/events.ts';
import { applyEvent, emptyConversation } from '../../server/conversation.ts';
import type { Conversation } from '../../server/conversation.ts';
import type { NumberedEvent } from '../../server/protocol.ts';
import { Outbox } from './outbox.ts';
import { Session } from './session.svelte.ts';

/** A whole run: text, a tool, a failed attempt and its retry, over and over. */
function story(length: number): NumberedEvent[] {
	const kinds: ((n: number) => AgentEvent)[] = [
		() => ({ type: 'run_start' }),
		(n) => ({ type: 'user_message', messageId: `u${n}`, text: `Do ${n}`, images: [] }),
		(n) => ({ type: 'message_start', messageId: `m${n}` }),
		(n) => ({ type: 'text', messageId: `m${n - 1}`, block: 0, text: `some ${n} ` }),
		(n) => ({ type: 'text', messageId: `m${n - 2}`, block: 0, text: `more ${n}` }),
		(n) => ({
			type: 'attempt_failed',
			messageId: `m${n - 3}`,
			errorMessage: '429',
			retryable: true,
		}),
		() => ({
			type: 'auto_retry_start',
			attempt: 1,
			maxAttempts: 3,
			delayMs: 9,
			errorMessage: '429',
		}),
		() => ({ type: 'auto_retry_attempt_start', attempt: 1, maxAttempts: 3 }),
		(n) => ({ type: 'tool_start', toolCallId: `t${n}`, toolName: 'bash', args: {}, by: 'agent' }),
		(n) => ({ type: 'tool_update', toolCallId: `t${n - 1}`, mode: 'append', text: `line ${n}\n` }),
		() => ({ type: 'agent_settled', aborted: false }),
	];
	return Array.from({ length }, (_, index) => ({
		seq: index + 1,
		at: index * 7,
		event: kinds[index % kinds.length]!(index),
	}));
}

test('frames that come twice, late or not at all end in the same conversation', () => {
	const frame = fc.record({ from: fc.nat(40), length: fc.integer({ min: 1, max: 8 }) });

	fc.assert(
		fc.property(
			fc.integer({ min: 1, max: 40 }),
			fc.array(frame, { maxLength: 30 }),
			(length, frames) => {
				const events = story(length);
				const whole = emptyConversation();
				for (const { event, at } of events) applyEvent(whole, structuredClone(event), at);

				let lost = false;
				const session = new Session(
					new Outbox(() => {}),
					's',
					() => (lost = true),
					() => true,
				);
				const greeting = { session: 's', epoch: 'e', now: 0 };
				session.welcome({
					type: 'welcome',
					...greeting,
					seq: 0,
					conversation: emptyConversation(),
				});
				const resume = () => {
					lost = false;
					const missed = structuredClone(events.slice(session.seen!.after));
					session.resume({ type: 'resumed', ...greeting, seq: length, events: missed });
				};

				for (const { from, length: count } of frames) {
					session.receive({ events: structuredClone(events.slice(from, from + count)) });
					if (lost) resume();
				}
				resume();
				expect($state.snapshot(session.conversation)).toEqual(whole);
			},
		),
		{ numRuns: 200 },
	);
});

/** A conversation of which a page holds the end, and the session of that page. */
function longConversation(connected = true) {
	const whole = emptyConversation();
	const say = (text: string) => {
		applyEvent(whole, { type: 'user_message', messageId: text, text, images: [] }, 0);
	};
	for (let index = 0; index < 5; index++) say(`message ${index}`);
	const asked: number[] = [];
	const session = new Session(
		new Outbox(() => {}),
		's',
		() => {},
		(before) => connected && asked.push(before) > 0,
	);
	const greeting = { session: 's', epoch: 'e', seq: 7, now: 0 };
	const end: Conversation = { ...whole, earlier: 3, messages: whole.messages.slice(3) };
	session.welcome({ type: 'welcome', ...greeting, conversation: structuredClone(end) });
	const answer = {
		...{ type: 'earlier' as const, session: 's', epoch: 'e', seq: 7, before: 3 },
		messages: structuredClone(whole.messages.slice(1, 3)),
	};
	const shown = () =>
		session.conversation.messages.map((message) => (message.kind === 'user' ? message.text : ''));
	return { session, asked, answer, greeting, shown };
}

test('earlier messages come before those that are here, once, however often they are asked for', () => {
	const { session, asked, answer, shown } = longConversation();
	session.fetchEarlier();
	session.fetchEarlier();
	expect(asked).toEqual([3, 3]);
	expect(session.fetching).toBe('waiting');

	session.receiveEarlier(answer);
	expect(session.fetching).toBe('done');
	expect(shown()).toEqual(['message 1', 'message 2', 'message 3', 'message 4']);
	expect(session.conversation.earlier).toBe(1);
	expect(session.seen).toEqual({ epoch: 'e', after: 7, from: 1 });

	session.receiveEarlier(answer);
	expect(shown()).toHaveLength(4);
});

test('earlier messages of another moment are not taken, and are asked for again after the greeting', () => {
	const { session, asked, answer, greeting, shown } = longConversation();
	session.fetchEarlier();
	session.receiveEarlier({ ...answer, seq: 8 });
	session.receiveEarlier({ ...answer, epoch: 'other' });
	expect(shown()).toHaveLength(2);

	session.resume({ type: 'resumed', ...greeting, events: [] });
	session.fetchEarlier();
	expect(asked).toEqual([3, 3]);
	session.receiveEarlier(answer);
	expect(shown()).toHaveLength(4);
});

test('without a connection a request for earlier messages fails, and can be made again', () => {
	const { session, greeting } = longConversation(false);
	session.fetchEarlier();
	expect(session.fetching).toBe('failed');
	session.resume({ type: 'resumed', ...greeting, events: [] });
	expect(session.fetching).toBe('done');
});
