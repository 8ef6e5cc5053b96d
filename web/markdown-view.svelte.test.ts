import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { lex, type Markdown } from './markdown-lexer.ts';
import { showTokens } from './markdown-nodes.ts';
import { MarkdownView } from './markdown-view.ts';

const PIECES = [
	'A paragraph with **bold *and* more**, `code` and [a link](https://example.com).\n\n',
	'# Heading\n\n',
	'Setext\n---\n\n',
	'- one\n- two\n  - nested\n\n',
	'- loose\n\n- items\n\n',
	'- [ ] open\n- [x] done\n\n',
	'3. three\n4. four\n\n   ```js\n   code();\n   ```\n\n',
	'> quoted\n> - list\n\n',
	'```ts\nconst x = 1;\n\nlet y;\n```\n\n',
	'```\nnever closed ',
	'| a | b |\n|---|:-:|\n| 1 | **2** |\n| 3 | 4 |\n\n',
	'---\n\n',
	'<div>\nraw\n</div>\n\n',
	'![image](https://example.com/x.png) and [refused](javascript:x) &lt;\n\n',
	'text  \nbroken\\\nlines *open',
	'see [late]\n\n',
	'[late]: https://late.example\n\n',
	'a line\n',
	' ',
];
const SECTION = PIECES.slice(0, 9).join('');

const views: MarkdownView[] = [];
afterEach(() => views.splice(0).forEach((view) => view.stop()));

function open() {
	const root = document.body.appendChild(document.createElement('div'));
	const view = new MarkdownView(root);
	views.push(view);
	return { root, view };
}

/** The blocks as they are made all at once. */
function whole(text: string) {
	const section = document.createElement('section');
	const visible = ({ type }: Markdown) => type !== 'space' && type !== 'def';
	showTokens(section, lex(text).filter(visible));
	return html(section);
}
const shown = (root: Element) => [...root.children].map(html).join('');
/** Without colours, which come later, and text as one, however often it was added to. */
function html(element: Element) {
	const copy = element.cloneNode(true) as Element;
	for (const code of copy.querySelectorAll('pre code')) code.textContent = code.textContent!;
	copy.normalize();
	return copy.innerHTML;
}

test('an answer that comes in any pieces ends as one that was shown at once', async () => {
	const frame = () => new Promise(requestAnimationFrame);
	await fc.assert(
		fc.asyncProperty(
			fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }),
			fc.array(fc.nat(400), { maxLength: 6 }),
			async (pieces, cuts) => {
				const text = pieces.join('');
				const { root, view } = open();
				for (const cut of cuts.sort((a, b) => a - b)) {
					view.update(text.slice(0, cut), false);
					if (cut % 3 === 0) await frame();
				}
				view.update(text, true);
				await expect.poll(() => shown(root), { interval: 5 }).toBe(whole(text));
				root.remove();
			},
		),
		{ numRuns: 60 },
	);
});

test('a long answer that is finished is shown in slices, its end first', async () => {
	const text = SECTION.repeat(400) + 'The end.';
	const { root, view } = open();
	const states: string[] = [];
	const observer = new MutationObserver(() => states.push(root.textContent!.slice(-8)));
	observer.observe(root, { childList: true });

	view.update(text, true);
	await expect.poll(() => shown(root).length, { timeout: 10_000 }).toBe(whole(text).length);
	observer.disconnect();
	expect(shown(root)).toBe(whole(text));
	expect(states.length).toBeGreaterThan(2);
	expect(new Set(states)).toEqual(new Set(['The end.']));
	const full = [...root.children].map((section) => section.className);
	expect(full).toEqual([...Array<string>(full.length - 1).fill('full'), '']);
	root.remove();
});

test('a burst is shown in slices, and ends as a whole', async () => {
	const text = SECTION.repeat(300);
	const { root, view } = open();
	view.update(text, false);
	expect(shown(root).length).toBeLessThan(whole(text).length);
	view.update(text + 'The end.', true);
	await expect.poll(() => root.textContent!.slice(-8), { timeout: 10_000 }).toBe('The end.');
	expect(shown(root)).toBe(whole(text + 'The end.'));
	root.remove();
});

test('a change that comes alone is shown at once, those that follow soon together', async () => {
	const { root, view } = open();
	view.update('One', false);
	expect(root.textContent).toBe('One');
	view.update('One, two', false);
	view.update('One, two, three', false);
	expect(root.textContent).toBe('One');
	await expect.poll(() => root.textContent).toBe('One, two, three');
	root.remove();
});

test('what is selected stays selected while the text around it grows', async () => {
	const { root, view } = open();
	view.update('First words\n\n```\ncode', false);
	const code = root.querySelector('pre code')!.firstChild!;
	const words = root.querySelector('p')!.firstChild!;
	getSelection()!.setBaseAndExtent(words, 6, code, 4);
	view.update('First words\n\n```\ncode and more', false);
	await expect.poll(() => root.textContent).toContain('and more');
	expect(getSelection()!.toString().replace(/\s+/g, ' ')).toContain('words');
	expect(getSelection()!.focusNode).toBe(code);
	root.remove();
});

test('what is said twice is shown once', async () => {
	const { root, view } = open();
	view.update('One', true);
	view.update('One', true);
	view.update('One, two', true);
	await expect.poll(() => shown(root)).toBe(whole('One, two'));
	view.update('One, two', true);
	view.update('One, two, three', true);
	await expect.poll(() => shown(root)).toBe(whole('One, two, three'));
	root.remove();
});

test('a text that turns out to be another is begun again', async () => {
	const { root, view } = open();
	view.update('# One\n\nfirst', false);
	view.update('Other', true);
	await expect.poll(() => shown(root)).toBe(whole('Other'));
	root.remove();
});
