import { beforeAll, expect, test, vi } from 'vitest';
import { render } from 'vitest-browser-svelte';
import '../app.css';
import { HOSTILE } from '../../e2e/attacks/payloads.ts';
import { MarkdownView, PAUSE_MS } from '../markdown-view.ts';
import Markdown, { load } from './Markdown.svelte';

beforeAll(load);

async function rendered(text: string) {
	const { container } = await render(Markdown, { text });
	return container;
}

/** A text that grows: drawn at once, or with what comes soon after it. */
async function growing(text: string) {
	const { container, rerender } = await render(Markdown, { text, streaming: true });
	const write = async (text: string, streaming = true) => {
		await rerender({ text, streaming });
		// Behind the view's own timer, which was set before.
		await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
	};
	return { container, write };
}

test('text with its emphasis, code and breaks', async () => {
	const container = await rendered(
		'Some **bold**, *slanted*, ~~struck~~ and `code <b>` &amp; &lt;tags&gt;,  \na line \\*more\\*.',
	);
	expect(container.querySelector('strong')!.textContent).toBe('bold');
	expect(container.querySelector('em')!.textContent).toBe('slanted');
	expect(container.querySelector('del')!.textContent).toBe('struck');
	expect(container.querySelector('code')!.textContent).toBe('code <b>');
	expect(container.querySelector('br')).not.toBeNull();
	expect(container.querySelector('p')!.innerText).toBe(
		'Some bold, slanted, struck and code <b> & <tags>,\na line *more*.',
	);
});

test('headings come below those of the page', async () => {
	const container = await rendered('# One\n\n## Two\n\nThree\n---\n\n#### Four\n\n###### Six');
	const headings = [...container.querySelectorAll('h1, h2, h3, h4, h5, h6')];
	expect(headings.map((heading) => heading.tagName + heading.textContent)).toEqual([
		...['H3One', 'H4Two', 'H4Three', 'H6Four', 'H6Six'],
	]);
});

test('lists with their start, nesting and tasks', async () => {
	const container = await rendered(
		'3. three\n4. four\n   - nested\n     - deeper\n\n- [x] done\n- [ ] open\n\n* loose\n\n* items',
	);
	expect(container.querySelector('ol')!.start).toBe(3);
	expect(container.querySelector('ol > li > ul > li > ul > li')!.textContent).toBe('deeper');
	const boxes = [...container.querySelectorAll<HTMLInputElement>('li input[type=checkbox]')];
	expect(boxes.map((box) => [box.checked, box.disabled])).toEqual([
		[true, true],
		[false, true],
	]);
	expect([...container.querySelectorAll('li > p')].map((p) => p.textContent)).toEqual([
		...['loose', 'items'],
	]);
});

test('tables scroll in a box of their own', async () => {
	const wide = Array.from({ length: 40 }, (_, index) => `column ${index}`).join(' | ');
	const container = await rendered(`| ${wide} |\n|${':-:|'.repeat(40)}\n| ${wide} |`);
	const box = container.querySelector<HTMLElement>('[role=region]')!;
	container.style.padding = '0 14px';

	expect(box.tabIndex).toBe(0);
	expect(box.scrollWidth).toBeGreaterThan(box.clientWidth);
	expect(document.documentElement.scrollWidth).toBeLessThanOrEqual(innerWidth);
	expect(container.querySelectorAll('thead th')).toHaveLength(40);
	expect(getComputedStyle(container.querySelector('td')!).textAlign).toBe('center');
});

test('quotes, rules and raw HTML', async () => {
	const container = await rendered(
		'> quoted\n>> twice\n\n---\n\n<div class="x">\n  raw\n</div>\n\nand <kbd>inline</kbd>',
	);
	expect(container.querySelector('blockquote > blockquote > p')!.textContent).toBe('twice');
	expect(container.querySelector('hr')).not.toBeNull();
	expect(container.querySelector('.html')!.textContent).toBe('<div class="x">\n  raw\n</div>');
	expect(container.querySelector('kbd')).toBeNull();
	expect(container.textContent).toContain('<kbd>inline</kbd>');
});

test('links lead to the web and to mail, images load only when asked for', async () => {
	const container = await rendered(
		'[site](https://example.com/a?b=1&amp;c), <me@example.com>, www.example.org, [file](src/a.ts), ' +
			'![a chart](https://img.example/x.png), ![inline](data:image/png;base64,AA)',
	);
	const links = [...container.querySelectorAll('a')];
	expect(links.map((link) => [link.textContent, link.href])).toEqual([
		['site', 'https://example.com/a?b=1&c'],
		['me@example.com', 'mailto:me@example.com'],
		['www.example.org', 'http://www.example.org/'],
		['image: a chart (img.example)', 'https://img.example/x.png'],
	]);
	for (const link of links) {
		expect([link.target, link.rel]).toEqual(['_blank', 'noopener noreferrer']);
	}
	expect(container.querySelector('img')).toBeNull();
	expect(container.textContent).toContain(', file, ');
	expect(container.textContent).toContain('image: inline');
});

test('code has its language, its colours and a button that copies it', async () => {
	const write = vi.spyOn(navigator.clipboard, 'writeText').mockResolvedValue();
	const { container, getByRole, getByText } = await render(Markdown, {
		text: '```typescript\nconst x = "a"; // why\n```',
	});

	await expect.element(getByText('typescript')).toBeVisible();
	await expect.poll(() => container.querySelector('pre .kwd')?.textContent).toBe('const');
	expect(container.querySelector('pre .str')!.textContent).toBe('"a"');
	expect(container.querySelector('pre .cmnt')!.textContent).toBe('// why');
	expect(container.querySelector('pre')!.textContent).toBe('const x = "a"; // why');

	await getByRole('button', { name: 'Copy' }).click();
	await expect.element(getByRole('button', { name: 'Copied' })).toBeVisible();
	expect(write).toHaveBeenCalledWith('const x = "a"; // why');
});

test('code is plain while it is written', async () => {
	const text = '```js\nconst x = 1;\nlet';
	const { container, write } = await growing(text);
	expect(container.querySelector('pre')!.textContent).toBe('const x = 1;\nlet');

	await write(text + ' y;\n```\n');
	await expect.poll(() => container.querySelectorAll('pre .kwd').length).toBe(2);
	expect(container.querySelector('pre')!.textContent).toBe('const x = 1;\nlet y;');
});

test('long code is cut into pieces that change nothing', async () => {
	const code = Array.from({ length: 350 }, (_, index) =>
		index % 50 === 49 ? '' : `line${index};`,
	);
	const container = await rendered('```js\n' + code.join('\n') + '\n```');
	const pieces = [...container.querySelectorAll('pre code')];

	expect(pieces.map((piece) => piece.textContent!.trimEnd().split('\n').length)).toEqual([
		...[99, 99, 99, 49],
	]);
	expect(container.querySelector('pre')!.textContent).toBe(code.join('\n'));
	expect(getComputedStyle(pieces[0]!).contentVisibility).toBe('auto');
	const height = pieces[0]!.getBoundingClientRect().height;
	expect(Math.round(height / 20.8)).toBe(100);
});

test('characters that would reorder code are named', async () => {
	// Svelte warns of the characters themselves, and of their escapes.
	const [override, isolate] = [String.fromCharCode(0x202e), String.fromCharCode(0x2066)];
	const container = await rendered(
		'`a' + override + 'b`\n\n```\nif (x ' + isolate + '// y) {\n```',
	);
	expect([...container.querySelectorAll('.bidi')].map((span) => span.textContent)).toEqual([
		...['⟨U+202E⟩', '⟨U+2066⟩'],
	]);
});

test('nothing moves or is rendered again when a block is finished', async () => {
	const text = [
		'# Heading\n\nA paragraph of `text`.\n\n- one\n- two\n\n1. one\n\n2. two\n\n> quoted\n\n',
		'```\ncode\n```\n\n| a |\n|---|\n| 1 |\n\n---\n\nThe end.\n\n',
	].join('');
	const { container, write } = await growing('');
	const blocks = () => [...container.querySelectorAll('section > *')];
	const place = (block: Element) => {
		const { top, bottom } = block.getBoundingClientRect();
		return [block, top, bottom] as const;
	};

	let settled: ReturnType<typeof place>[] = [];
	for (let end = 1; end <= text.length; end++) {
		await write(text.slice(0, end));
		const now = blocks().map(place);
		expect(now.slice(0, settled.length)).toEqual(settled);
		// What ends in a blank line stays, but for lists: they may go on after it.
		if (/\n\n$/.test(text.slice(0, end)) && !/(one|two)\n\n$/.test(text.slice(0, end)))
			settled = now;
	}
	await write(text, false);
	expect(blocks().map(place)).toEqual(settled);
	expect(settled).toHaveLength(9);
});

const FORBIDDEN =
	'script, iframe, img, style, form, meta, base, link, object, embed, svg, math, video, audio, template';

test('hostile text does nothing, wherever its stream is cut', async () => {
	const requests = performance.getEntriesByType('resource').length;
	for (const payload of HOSTILE) {
		// Those that are long are so by saying the same again and again.
		const step = Math.ceil(payload.length / 400);
		for (let cut = 1; cut <= payload.length; cut += step) {
			const root = document.body.appendChild(document.createElement('div'));
			const view = new MarkdownView(root);
			view.update(payload.slice(0, cut), false);
			harmless(root, `${payload.slice(0, 400)}, cut at ${cut}`);
			view.stop();
			root.remove();
		}
	}

	const answers = await Promise.all(
		HOSTILE.map(async (payload) => ({ payload, ...(await growing('')) })),
	);
	const writeAll = (text: (payload: string) => string, streaming: boolean) =>
		Promise.all(answers.map(({ payload, write }) => write(text(payload), streaming)));
	for (const part of [0.3, 0.7, 1]) {
		await writeAll((payload) => payload.slice(0, Math.ceil(payload.length * part)), true);
		for (const { payload, container } of answers) harmless(container, payload);
	}
	await writeAll((payload) => `${payload}\n\nafter it`, false);
	for (const { payload, container } of answers) {
		harmless(container, payload);
		expect(container.textContent).toContain('after it');
		for (const link of container.querySelectorAll('a')) {
			link.addEventListener('click', (event) => event.preventDefault());
			link.click();
		}
	}

	expect('pwned' in window).toBe(false);
	const hosts = performance
		.getEntriesByType('resource')
		.slice(requests)
		.map((entry) => new URL(entry.name).host);
	// The test server's own: the colours of a code block come when the first is finished.
	expect(hosts.filter((host) => host !== location.host)).toEqual([]);
});

function harmless(container: Element, payload: string) {
	expect(container.querySelector(FORBIDDEN), payload).toBeNull();
	for (const element of container.querySelectorAll('*')) {
		const names = element.getAttributeNames();
		expect(
			names.filter((name) => /^on|^srcdoc$|action$/.test(name)),
			payload,
		).toEqual([]);
		expect(getComputedStyle(element).position, payload).toBe('static');
	}
	for (const link of container.querySelectorAll('a')) {
		expect(['http:', 'https:', 'mailto:'], payload).toContain(link.protocol);
	}
}
