import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { SessionEvent } from './conversation.ts';
import { Gathering, type Happening } from './gathering.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const text = (words: string, messageId = 'm'): SessionEvent => ({
	type: 'text',
	messageId,
	block: 0,
	text: words,
});
const output = (text: string, mode: 'append' | 'replace' = 'append'): SessionEvent => ({
	type: 'tool_update',
	toolCallId: 't',
	mode,
	text,
});
const end: SessionEvent = {
	type: 'tool_end',
	isError: false,
	toolCallId: 't',
	toolName: 'bash',
	text: 'all',
	images: [],
	outcome: 'done',
};

function gathering() {
	const frames: { when: number; happenings: Happening[] }[] = [];
	const began = performance.now();
	const gathering = new Gathering((happenings) =>
		frames.push({ when: performance.now() - began, happenings }),
	);
	return {
		frames,
		add: (event: SessionEvent) => gathering.add(event, performance.now()),
		said: () => frames.flatMap(({ happenings }) => happenings.map(({ event }) => event)),
	};
}

test('text that comes alone goes on at once, a burst once in a frame', () => {
	const { frames, add, said } = gathering();
	add(text('one '));
	expect(said()).toEqual([text('one ')]);

	for (const words of ['two ', 'three ', 'four ']) add(text(words));
	vi.advanceTimersByTime(23);
	expect(frames).toHaveLength(1);
	vi.advanceTimersByTime(1);
	expect(said()).toEqual([text('one '), text('two three four ')]);
});

test('anything else takes what was held back with it, in order', () => {
	const { said, add } = gathering();
	add(text('one '));
	add(text('two '));
	add(output('line\n'));
	add(output('more\n'));
	add({ type: 'run_start' });
	const kinds = said().map(({ type }) => type);
	expect(kinds).toEqual(['text', 'tool_update', 'tool_update', 'text', 'run_start']);
});

test('no text is lost and none changes its order, whatever its rhythm', () => {
	const step = fc.record({
		words: fc.string({ minLength: 1 }),
		message: fc.constantFrom('a', 'b'),
		pause: fc.integer({ min: 0, max: 20 }),
	});
	fc.assert(
		fc.property(fc.array(step), (steps) => {
			const { said, add } = gathering();
			for (const { words, message, pause } of steps) {
				add(text(words, message));
				vi.advanceTimersByTime(pause);
			}
			vi.advanceTimersByTime(100);
			const flat = (events: SessionEvent[]) =>
				events.flatMap((event) =>
					event.type === 'text' ? [...event.text].map((one) => event.messageId + one) : [],
				);
			expect(flat(said())).toEqual(
				steps.flatMap(({ words, message }) => [...words].map((one) => message + one)),
			);
		}),
	);
});

test('a command that prints 10 MB in 10 s sends a tenth of it, its end never older than 200 ms', () => {
	const { frames, add } = gathering();
	const line = 'x'.repeat(49) + '\n';
	for (let printed = 0; printed < 10_000; printed += 100) {
		add(output(line.repeat(1_000) + `${printed}\n`, 'replace'));
		vi.advanceTimersByTime(100);
	}
	vi.advanceTimersByTime(1_000);

	const sent = frames.flatMap(({ happenings }) => happenings.map(({ event }) => event));
	const length = sent.reduce((sum, event) => sum + ('text' in event ? event.text!.length : 0), 0);
	expect(length).toBeLessThan(1_200_000);
	expect(sent.at(-1)).toMatchObject({ mode: 'replace', text: expect.stringMatching(/\n9900\n$/) });
	const gaps = frames.slice(1).map(({ when }, index) => when - frames[index]!.when);
	expect(Math.max(...gaps)).toBeLessThanOrEqual(200);
});

test('the last lines of a burst are whole, and what follows is added to them', () => {
	const { said, add } = gathering();
	add(output('first\n'));
	for (let count = 0; count < 3_000; count++) add(output(`line ${count}\n`));
	vi.advanceTimersByTime(24);
	const [, burst] = said();
	expect(burst).toMatchObject({ mode: 'replace', text: expect.stringMatching(/^line \d+\n/) });
	vi.advanceTimersByTime(500);
	add(output('and more'));
	expect(said().at(-1)).toEqual(output('and more'));
});

test('what a command printed last is not sent twice when it ends', () => {
	const { said, add } = gathering();
	add(output('one\n'));
	add(output('two\n'));
	add(end);
	expect(said()).toEqual([output('one\n'), end]);
	vi.advanceTimersByTime(1_000);
	expect(said()).toHaveLength(2);
});
