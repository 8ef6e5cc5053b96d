import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Terminal } from './terminal.ts';

function shown(...texts: string[]) {
	const terminal = new Terminal();
	for (const text of texts) terminal.update(text);
	return terminal.lines.map((line) => line.spans.map((span) => span.text).join('')).join('\n');
}

function styles(text: string) {
	return new Terminal()
		.update(text)
		.flatMap((line) => line.spans)
		.map(({ text, style: { colour, ground, classes } }) => [text, colour, ground, classes]);
}

const SOUP = fc
	.array(
		fc.oneof(
			fc.constantFrom(
				...[
					'\x1b[31m',
					'\x1b[1;4m',
					'\x1b[0m',
					'\x1b[K',
					'\x1b[2K',
					'\x1b[1K',
					'\x1b[1G',
					'\x1b[2A',
				],
				...[
					'\x1b]0;title\x07',
					'\x1b]8;;http://x\x1b\\',
					'\x1b]0;open',
					'\x1bPq#0',
					'\x1b_app\x9c',
				],
				...['\x1b(B', '\x1b7', '\x1b', '\x1b[', '\x1b[1', '\x9b31m', '\x90', '\x9c', '\x1b[?25l'],
				...[
					'\r',
					'\n',
					'\r\n',
					'\b',
					'\t',
					'\0',
					'\x07',
					'\x18',
					'\x7f',
					'\x85',
					'\u202e',
					'😀',
					'é',
				],
			),
			fc.string(),
			fc.string({ unit: 'binary' }),
		),
		{ maxLength: 30 },
	)
	.map((parts) => parts.join(''));

test.each([
	['a progress bar shows its last state', '10%\r20%\r30%', '30%'],
	['a carriage return before a newline is part of it', 'a\r\nb\r\r\nc', 'a\nb\nc'],
	['a shorter text overwrites only its length', 'downloading\rdone', 'doneloading'],
	['the rest of a line is erased', 'downloading\rdone\x1b[K', 'done'],
	['a whole line is erased', 'spinning\x1b[2K\rdone', 'done'],
	['a line is erased up to the cursor', 'abcdef\b\b\b\x1b[1K', '    ef'],
	['the first column is reached by its number', 'spinning\x1b[2K\x1b[1Gdone', 'done'],
	['a backspace is overwritten', 'ab\bc', 'ac'],
	['a backspace stops at the beginning of the line', 'a\n\b\b\bb', 'a\nb'],
	['overprinting in the manner of man pages leaves the letters', 'N\bNA\bA', 'NA'],
	['a line with nothing after it is no line', 'a\n\n', 'a\n'],
	['tabs stay', 'a\tb', 'a\tb'],
	['cursor movements are dropped', 'a\x1b[2Ab\x1b[10;10Hc\x1b[?25ld', 'abcd'],
	['titles are dropped', 'a\x1b]0;title\x07b\x1b]2;title\x1b\\c\x9d0;title\x9cd', 'abcd'],
	['links keep their text', '\x1b]8;;https://x\x1b\\text\x1b]8;;\x1b\\', 'text'],
	['an endless title ends with its line', 'a\x1b]0;title\nb', 'a\nb'],
	['an endless title ends with the next sequence', 'a\x1b]0;title\x1b[31mb', 'ab'],
	[
		'device and application strings are dropped',
		'a\x1bPq#0;2\x1b\\b\x1b_G1\x1b\\c\x1b^x\x1b\\d',
		'abcd',
	],
	['character sets are dropped', 'a\x1b(Bb\x1b)0c\x1b%Gd', 'abcd'],
	['other controls are dropped', 'a\0b\x07c\x0bd\x7fe\x85f', 'abcdef'],
	['a broken sequence is dropped', 'a\x1b[31\nb\x1b\nc', 'a\nb\nc'],
	['hidden reordering is named', 'a\u202eb', 'a⟨U+202E⟩b'],
	['characters of two code units are one', '😀x\r\x1b[Ky😀\bz', 'yz'],
])('%s', (_, text, expected) => {
	expect(shown(text)).toBe(expected);
});

test('colours and emphasis become styles', () => {
	expect(styles('\x1b[1;31mred\x1b[22m plain\x1b[0m none')).toEqual([
		['red', 'var(--ansi-red)', undefined, 'bold'],
		[' plain', 'var(--ansi-red)', undefined, ''],
		[' none', undefined, undefined, ''],
	]);
	expect(styles('\x1b[2;3;4;9;7mx')).toEqual([
		['x', undefined, undefined, 'dim italic underlined struck inverse'],
	]);
	expect(styles('\x1b[92;103mx')).toEqual([
		['x', 'var(--ansi-bright-green)', 'var(--ansi-bright-yellow)', ''],
	]);
});

test('palette and true colours keep their values', () => {
	const [palette, grey, low, colons, exact] = styles(
		'\x1b[38;5;208ma\x1b[38;5;244mb\x1b[38;5;9mc\x1b[38:2::1:2:3md\x1b[0;48;2;4;5;6me',
	);
	expect(palette?.[1]).toBe('rgb(255,135,0)');
	expect(grey?.[1]).toBe('rgb(128,128,128)');
	expect(low?.[1]).toBe('var(--ansi-bright-red)');
	expect(colons?.[1]).toBe('rgb(1, 2, 3)');
	expect(exact).toEqual(['e', undefined, 'rgb(4, 5, 6)', '']);
});

test('bold that was set twice is bold no more when it is unset once', () => {
	expect(styles('\x1b[1m\x1b[1ma\x1b[22mb').map(([, , , classes]) => classes)).toEqual([
		'bold',
		'',
	]);
});

test('underline shapes and colours are not taken for something else', () => {
	expect(styles('\x1b[4:3;58;5;1mx\x1b[31;58:2::1:2:3my')).toEqual([
		['x', undefined, undefined, 'underlined'],
		['y', 'var(--ansi-red)', undefined, 'underlined'],
	]);
});

test('what has been overwritten has the style it was overwritten in', () => {
	expect(styles('\x1b[31maaaa\r\x1b[32mbb').map(([text, colour]) => [text, colour])).toEqual([
		['bb', 'var(--ansi-green)'],
		['aa', 'var(--ansi-red)'],
	]);
});

test('output that comes in pieces shows what it would have shown at once', () => {
	fc.assert(
		fc.property(SOUP, fc.array(fc.nat(200)), (text, cuts) => {
			const pieces = cuts.sort((a, b) => a - b).map((cut) => text.slice(0, cut));
			expect(shown(...pieces, text)).toBe(shown(text));
		}),
		{ numRuns: 2_000 },
	);
});

test('nothing that controls anything survives', () => {
	fc.assert(
		fc.property(SOUP, (text) => {
			expect(shown(text)).not.toMatch(
				/[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/,
			);
		}),
		{ numRuns: 2_000 },
	);
});

test('finished lines stay the same objects', () => {
	const terminal = new Terminal();
	const before = terminal.update('one\ntwo\nthr');
	const after = terminal.update('one\ntwo\nthree\nfour');
	expect(after[0]).toBe(before[0]);
	expect(after[1]).toBe(before[1]);
	expect(after[2]?.id).toBe(before[2]?.id);
});

test('a window that moves along the output keeps the lines it still shows', () => {
	const line = (_: unknown, index: number) => `\x1b[3${index % 8}mline ${index}\n`;
	const output = Array.from({ length: 200 }, line).join('');
	const terminal = new Terminal();
	const before = terminal.update(output.slice(0, 1500));
	const after = terminal.update(output.slice(700, 2200));

	expect(after[0]).toBe(before.find((line) => line.id === after[0]?.id));
	expect(after.length).toBeLessThan(before.length + 5);
	expect(after.at(-1)?.id).toBeGreaterThan(before.at(-1)!.id);
	expect(terminal.lines.flatMap((line) => line.spans).at(-1)?.text).toMatch(/^line 1\d+$/);
});

test('other output begins anew', () => {
	expect(shown('\x1b[31mfirst\nsecond', 'third')).toBe('third');
	expect(shown('first\nsecond', '')).toBe('');
});
