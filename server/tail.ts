import { unfinished } from './conversation.ts';
import type { Conversation, Message } from './conversation.ts';

const TAIL_MESSAGES = 20;
const PAGE_MESSAGES = 12;
const PAGE_CHARACTERS = 256 * 1024;
const SHOWN_AT_LEAST = 5;

/**
 * The conversation without its older messages: with those that events may still change, the last
 * ones up to a number and a size, and all from number `from` on.
 */
export function tail(
	conversation: Conversation,
	from = Infinity,
	most = TAIL_MESSAGES,
): Conversation {
	const { messages } = conversation;
	const open = messages.findIndex(unfinished);
	const start = Math.min(
		pageStart(messages, messages.length, most),
		open < 0 ? Infinity : open,
		from,
	);
	return { ...conversation, earlier: start, messages: messages.slice(start) };
}

/** The messages that come before number `before`, up to a number and a size. */
export function pageBefore({ messages }: Conversation, before: number, most = PAGE_MESSAGES) {
	const end = Math.min(before, messages.length);
	return messages.slice(pageStart(messages, end, most), end);
}

function pageStart(messages: Message[], end: number, most: number): number {
	let start = end;
	let characters = 0;
	while (start > 0 && end - start < most) {
		characters += JSON.stringify(messages[start - 1]).length;
		if (characters > PAGE_CHARACTERS && end - start >= SHOWN_AT_LEAST) break;
		start--;
	}
	return start;
}
