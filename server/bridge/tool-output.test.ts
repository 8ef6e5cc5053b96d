import fc from 'fast-check';
import { expect, test } from 'vitest';
import { outputUpdate, resultText, shellOutcome } from './tool-output.ts';

const apply = (shown: string, update: ReturnType<typeof outputUpdate>) =>
	update === undefined ? shown : update.mode === 'append' ? shown + update.text : update.text;

test('what is shown grows with the output, and ends as the output ends once a window moves over it', () => {
	const pieces = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 700 }), {
		maxLength: 12,
	});
	fc.assert(
		fc.property(pieces, (list) => {
			const WINDOW = 2_000;
			let [output, before, shown] = ['', '', ''];
			for (const piece of list) {
				output += piece;
				const after = output.slice(-WINDOW);
				shown = apply(shown, outputUpdate(before, after));
				before = after;
				expect(shown.slice(-WINDOW)).toBe(after);
				if (output.length <= WINDOW) expect(shown).toBe(output);
			}
		}),
	);
});

test('output whose window has moved on altogether replaces what was shown', () => {
	expect(outputUpdate('a'.repeat(500), 'b'.repeat(500))).toEqual({
		mode: 'replace',
		text: 'b'.repeat(500),
	});
});

test.for([
	['out\n', false, { text: 'out\n', outcome: 'done', exitCode: 0 }],
	['(no output)', false, { text: '', outcome: 'done', exitCode: 0 }],
	['out\n\n\nCommand exited with code 3', true, { text: 'out\n', outcome: 'failed', exitCode: 3 }],
	['(no output)\n\nCommand exited with code 1', true, { text: '', outcome: 'failed', exitCode: 1 }],
	['Command aborted', true, { text: '', outcome: 'stopped' }],
	['out\n\n\nCommand aborted', true, { text: 'out\n', outcome: 'stopped' }],
	['out\n\nCommand timed out after 5 seconds', true, { text: 'out', outcome: 'timed_out' }],
	[
		'Command aborted\n\nCommand exited with code 2',
		true,
		{ text: 'Command aborted', outcome: 'failed', exitCode: 2 },
	],
	['The user said no.', true, { text: 'The user said no.', outcome: 'failed' }],
	['echo: Command aborted', false, { text: 'echo: Command aborted', outcome: 'done', exitCode: 0 }],
] as const)(
	'the closing line of a command becomes its outcome: %j',
	([text, isError, expected]) => {
		expect(shellOutcome(text, isError)).toEqual(expected);
	},
);

test('pictures leave no trace in the text of a result', () => {
	const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
	const text = (words: string) => ({ type: 'text', text: words });

	expect(resultText({ content: [text('one'), image] })).toBe('one');
	expect(resultText({ content: [text('one'), image, text('two')] })).toBe('one\ntwo');
	expect(resultText({})).toBe('');
});
