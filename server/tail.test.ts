import { expect, test } from 'vitest';
import { applyEvent, emptyConversation } from './conversation.ts';
import type { SessionEvent } from './conversation.ts';
import { pageBefore, tail } from './tail.ts';

function conversation(...events: SessionEvent[]) {
	const made = emptyConversation();
	for (const event of events) applyEvent(made, event, 0);
	return made;
}
const said = (count: number, length = 0): SessionEvent[] =>
	Array.from({ length: count }, (_, index) => ({
		type: 'user_message',
		messageId: `u${index}`,
		text: `message ${index}${'x'.repeat(length)}`,
		images: [],
	}));

test('of a long conversation the end is shown first, and says how much came before', () => {
	const long = conversation(...said(1_000));
	const shown = tail(long);

	expect(shown.messages).toEqual(long.messages.slice(980));
	expect(shown.earlier).toBe(980);
	expect(shown.title).toBe('message 0');
	expect(tail(conversation(...said(20)))).toMatchObject({ earlier: 0, messages: { length: 20 } });
});

test('heavy messages are fewer, but never too few to read', () => {
	expect(tail(conversation(...said(100, 20_000))).messages.length).toBe(13);
	expect(tail(conversation(...said(100, 1_000_000))).messages.length).toBe(5);
});

test('what may still change is never left out', () => {
	const running: SessionEvent = {
		...{ type: 'tool_start', toolCallId: 't', toolName: 'bash' },
		...{ args: {}, by: 'user' },
	};
	const shown = tail(conversation(...said(50), running, ...said(1_000)));
	expect(shown.earlier).toBe(50);
	expect(shown.messages[0]).toMatchObject({ kind: 'tool', state: 'running' });
});

test('a snapshot reaches back as far as the page does that asks for it', () => {
	expect(tail(conversation(...said(1_000)), 200).earlier).toBe(200);
	expect(tail(conversation(...said(1_000)), 990).earlier).toBe(980);
});

test('page by page the beginning is reached', () => {
	const long = conversation(...said(50));
	let { earlier, messages } = tail(long);
	const pages: number[] = [];
	while (earlier > 0) {
		const page = pageBefore(long, earlier);
		pages.push(page.length);
		messages = [...page, ...messages];
		earlier -= page.length;
	}
	expect(pages).toEqual([12, 12, 6]);
	expect(messages).toEqual(long.messages);
	expect(pageBefore(long, 5_000)).toEqual(long.messages.slice(38));
});
