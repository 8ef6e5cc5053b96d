import fc from 'fast-check';
import { Lexer } from 'marked';
import { afterEach, expect, test, vi } from 'vitest';
import { lex, type Markdown } from './markdown-lexer.ts';
import { MarkdownBlocks } from './markdown.ts';

const FRAGMENTS = [
	'A paragraph with **bold**, `code` and *more*.',
	'two lines\nof one paragraph',
	'hard  \nbreak\\\nand break',
	'# Heading',
	'## Heading ##',
	'Setext\n===',
	'two\nlines\n---',
	'---',
	'***',
	'===',
	'- a\n- b',
	'- a\n\n- b\n\n\n- c',
	'- a\n  - nested\n\n    para\n- b',
	'* star\n+ plus\n- minus',
	'1. one\n2. two',
	'7) seven\n8) eight',
	'- [ ] open\n- [x] done',
	'-',
	'-\n\n  x',
	'1.',
	'    indented code\n\n    goes on',
	'\tafter a tab',
	'  two spaces in',
	'lazy\n    continuation',
	'> quote\nlazy',
	'> a\n>> b\n> c',
	'> - item\nlazy\n> - other',
	'> ```\n> code\n> ```',
	'> # heading\nnot lazy',
	'>',
	'```ts\nconst x = 1;\n\n# no heading\n```',
	'~~~\n```\n\n~~~',
	'````md\n```\ninner\n```\n````',
	'```',
	'```js',
	'  ```\n  indented fence\n  ```',
	'| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 |',
	'a | b\n--|--\n1 | 2',
	'a | b | c\n--|--\nno table',
	'| a |',
	'|---|',
	'<div>\n*raw*\n\n</div>',
	'<details><summary>more</summary>\n\ntext\n\n</details>',
	'<!-- comment\n\nstill -->',
	'<!-- never closed',
	'<script>\n\nalert(1)\n</script>',
	'<pre>\n\n',
	'<a href="x">open www.example.com',
	'text <b>inline</b> </a> https://example.com',
	'<x-y>',
	'See [one], [two][2], [three][] and ![image][one].',
	'*see [one*] and **[two** x][2]',
	'[one]: https://one.example',
	'[2]: <https://two.example> "Two"',
	'[three]:\nhttps://three.example\n"a title\nin two lines"',
	'[one]: https://late.example',
	'[open]: /url "not\n\nclosed"',
	'[open]: /url\n"not',
	'closed"',
	'[half',
	'label]: /url',
	'\\# escaped \\[one\\]',
	'&lt; &#65; &amp;copy;',
	'**open strong',
	'`open code',
	'\u00a0',
	'   ',
	'\t',
];
const JOINTS = ['\n', '\n\n', '\n\n\n', '\r\n', '\r\n\r\n', '\r', ' ', '', '\n   \n'];

const answer = fc
	.array(fc.tuple(fc.constantFrom(...FRAGMENTS), fc.constantFrom(...JOINTS)), { maxLength: 12 })
	.map((pieces) => pieces.flat().join(''));
const cuts = fc.array(fc.nat(600), { maxLength: 12 });

function whole(text: string) {
	return lex(text).filter((token) => token.type !== 'space' && token.type !== 'def');
}

function stream(text: string, at: number[]) {
	const markdown = new MarkdownBlocks();
	for (const end of at.filter((cut) => cut < text.length).sort((a, b) => a - b)) {
		markdown.update(text.slice(0, end));
	}
	markdown.update(text);
	return markdown;
}

afterEach(() => vi.restoreAllMocks());

test('an answer cut anywhere ends as the blocks of one whole lex', () => {
	fc.assert(
		fc.property(answer, cuts, (text, at) => {
			const markdown = stream(text, at);
			markdown.update(text, true);
			expect(markdown.blocks).toEqual(whole(text));
		}),
		{ numRuns: 3_000 },
	);
});

test('an answer that comes character by character ends as the blocks of one whole lex', () => {
	fc.assert(
		fc.property(answer, (text) => {
			const markdown = stream(
				text,
				[...text].map((_, index) => index),
			);
			markdown.update(text, true);
			expect(markdown.blocks).toEqual(whole(text));
		}),
		{ numRuns: 300 },
	);
});

test('what is shown in mid-answer is what one lex of the whole lines so far shows', () => {
	const plain = answer.filter((text) => !/\[|\r/.test(text));
	fc.assert(
		fc.property(plain, cuts, fc.nat(600), (text, at, end) => {
			const lines = text.slice(0, text.lastIndexOf('\n', end) + 1);
			expect(stream(lines, at).blocks).toEqual(whole(lines));
		}),
		{ numRuns: 2_000 },
	);
});

test('a block stays the same object while what follows it is written', () => {
	fc.assert(
		fc.property(answer, (text) => {
			const markdown = new MarkdownBlocks();
			let before: Markdown[] = [];
			for (let end = 1; end <= text.length; end += 3) {
				markdown.update(text.slice(0, end));
				for (const [index, block] of markdown.blocks.entries()) {
					if (JSON.stringify(block) === JSON.stringify(before[index])) {
						expect(block).toBe(before[index]);
					}
				}
				before = markdown.blocks;
			}
		}),
		{ numRuns: 200 },
	);
});

test('the end of the answer changes no block that stays equal', () => {
	const paragraph = 'Words, *words* and `words`.\n\n';
	const text =
		paragraph.repeat(100) + '[late]\n\n' + paragraph.repeat(100) + '[late]: https://x.example';
	const markdown = stream(
		text,
		Array.from({ length: text.length / 50 }, (_, index) => index * 50),
	);
	const before = markdown.blocks;
	const groups = markdown.groups;
	markdown.update(text, true);

	const changed = markdown.blocks.filter((block, index) => block !== before[index]);
	expect(changed.map((block) => block.raw)).toEqual(['[late]']);
	expect(markdown.groups.filter((group, index) => group !== groups[index])).toHaveLength(1);
});

test('the part of a growing list that is written keeps its identity', () => {
	const markdown = new MarkdownBlocks();
	markdown.update('- one *em*\n- two\n- thr');
	const [before] = markdown.blocks;
	markdown.update('- one *em*\n- two\n- three');
	const [after] = markdown.blocks;

	expect(before?.type === 'list' && after?.type === 'list').toBe(true);
	if (before?.type !== 'list' || after?.type !== 'list') return;
	expect(after.items[0]).toBe(before.items[0]);
	expect(after.items[1]).toBe(before.items[1]);
	expect(after.items[2]).not.toBe(before.items[2]);
});

test('a text that is not what it was begins again', () => {
	const markdown = new MarkdownBlocks();
	markdown.update('# One\n\nfirst\n\nsecond\n\n[x]: /y\n\nthird');
	markdown.update('# Two\n\nfirst [x]', true);
	expect(markdown.blocks).toEqual(whole('# Two\n\nfirst [x]'));
});

test('a line of mere markers waits until it is clear what it begins', () => {
	const markdown = new MarkdownBlocks();
	markdown.update('A paragraph\n-');
	expect(markdown.blocks).toMatchObject([{ type: 'paragraph', text: 'A paragraph' }]);
	markdown.update('A paragraph\n- item');
	expect(markdown.blocks).toMatchObject([{ type: 'paragraph' }, { type: 'list' }]);
});

test('nesting that would overflow the stack is shown as text', () => {
	for (const marker of ['>', '- ', '> - ', '1. ', '*a **b ', '![']) {
		expect(new MarkdownBlocks().update(marker.repeat(5_000) + 'x', true)).not.toEqual([]);
	}
});

function lexedWhile(text: string, step: number) {
	const lexed = vi.spyOn(Lexer.prototype, 'lex');
	const markdown = new MarkdownBlocks();
	for (let end = step; end < text.length + step; end += step) markdown.update(text.slice(0, end));
	markdown.update(text, true);
	return lexed.mock.calls.reduce((sum, [source]) => sum + source.length, 0);
}

test('the longer answer costs no more per character', () => {
	const section = [
		'## A heading',
		'Some text that runs over a line or two, with `code` and **bold** in it. '.repeat(4),
		'- one\n- two\n- three',
		'```ts\n' + 'const answer = 42;\n'.repeat(10) + '```',
		'| a | b |\n|---|---|\n| 1 | 2 |',
	].join('\n\n');
	const short = lexedWhile((section + '\n\n').repeat(20), 50);
	vi.restoreAllMocks();
	const long = lexedWhile((section + '\n\n').repeat(200), 50);

	expect(long / short).toBeLessThan(10.5);
	expect(long).toBeLessThan(section.length * 200 * 5);
});

test('a long code block is not lexed before its end is there', () => {
	const code = '```ts\n' + 'const answer = 42;\n'.repeat(5_000);
	expect(lexedWhile(code + '```\n\nDone.\n', 50)).toBeLessThan(code.length * 4);
});
