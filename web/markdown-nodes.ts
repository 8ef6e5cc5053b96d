import type { Token, Tokens } from 'marked';
import { revealBidi } from './bidi.ts';
import { CodeBlock } from './code-block.ts';
import { decodeEntities } from './entities.ts';
import { linkTarget } from './links.ts';
import type { Markdown } from './markdown-lexer.ts';

const codeBlocks = new WeakMap<Node, CodeBlock>();

/**
 * Makes the children of an element those that the tokens stand for: one node for each. What has not
 * changed since `old` is not touched. By hand, since a component for each took six times as long.
 */
export function showTokens(parent: Element, fresh: Markdown[], old: Markdown[] = []) {
	show(parent, old, fresh, create, change);
}

function show<T>(
	parent: Element,
	old: readonly T[],
	fresh: readonly T[],
	make: (item: T) => Node,
	change: (node: Node, old: T, fresh: T) => boolean,
) {
	for (const [index, item] of fresh.entries()) {
		const before = old[index];
		if (before === undefined) parent.append(make(item));
		else if (before !== item) {
			const node = parent.childNodes[index]!;
			if (!change(node, before, item)) parent.replaceChild(make(item), node);
		}
	}
	for (let extra = old.length - fresh.length; extra > 0; extra--) parent.lastChild!.remove();
}

function create(token: Markdown): Node {
	switch (token.type) {
		case 'paragraph':
			return withTokens('p', token);
		case 'heading':
			// The page's own headings are h1 and h2.
			return withTokens(`h${Math.min(token.depth + 2, 6)}`, token);
		case 'list':
			return createList(token);
		case 'list_item':
			return element('li', token.task ? { className: 'task' } : {}, (item) =>
				showTokens(item, children(token)),
			);
		case 'blockquote':
			return withTokens('blockquote', token);
		case 'table':
			return createTable(token);
		case 'code': {
			const block = new CodeBlock(token);
			codeBlocks.set(block.element, block);
			return block.element;
		}
		case 'hr':
		case 'br':
			return document.createElement(token.type);
		case 'checkbox':
			return element('input', { type: 'checkbox', disabled: true, checked: token.checked }, (box) =>
				box.setAttribute('aria-label', 'Done'),
			);
		case 'strong':
		case 'em':
		case 'del':
			return withTokens(token.type, token);
		case 'codespan':
			return element('code', {}, (code) => {
				for (const { text, control } of revealBidi(token.text)) {
					code.append(control ? element('span', { className: 'bidi', textContent: text }) : text);
				}
			});
		case 'link': {
			const target = linkTarget(token.href);
			return target ? link(target, children(token)) : withTokens('span', token);
		}
		case 'image': {
			// Loading it would tell its host that, when and where this is read.
			const target = linkTarget(token.href);
			if (!target?.host) return document.createTextNode(`image: ${token.text}`);
			const label = `image: ${token.text} (${target.host})`;
			return link(target, [{ type: 'text', raw: label, text: label, escaped: true }]);
		}
		case 'html':
			return token.block
				? element('p', { className: 'html', textContent: token.text.trimEnd() })
				: document.createTextNode(token.text);
		case 'text':
			return document.createTextNode(plain(token));
		case 'escape':
			return document.createTextNode(token.text);
		// They show nothing, and are left out before.
		case 'space':
		case 'def':
			return document.createTextNode('');
		default:
			token satisfies never;
			return document.createTextNode('');
	}
}

/** Turns the node of a token into that of another; false when it needs a new one. */
function change(node: Node, old: Markdown, fresh: Markdown): boolean {
	const parent = node as Element;
	switch (fresh.type) {
		case 'text':
			if (old.type !== 'text') return false;
			changeText(node as Text, plain(old), plain(fresh));
			return true;
		case 'paragraph':
		case 'blockquote':
		case 'strong':
		case 'em':
		case 'del':
			if (old.type !== fresh.type) return false;
			showTokens(parent, children(fresh), children(old));
			return true;
		case 'heading':
			if (old.type !== 'heading' || old.depth !== fresh.depth) return false;
			showTokens(parent, children(fresh), children(old));
			return true;
		case 'list':
			if (old.type !== 'list' || old.ordered !== fresh.ordered || old.start !== fresh.start)
				return false;
			parent.classList.toggle('loose', fresh.loose);
			showTokens(parent, fresh.items, old.items);
			return true;
		case 'list_item':
			if (old.type !== 'list_item' || old.task !== fresh.task) return false;
			showTokens(parent, children(fresh), children(old));
			return true;
		case 'table':
			return old.type === 'table' && changeTable(parent, old, fresh);
		case 'code':
			if (old.type !== 'code') return false;
			codeBlocks.get(node)!.update(fresh);
			return true;
		default:
			return false;
	}
}

function createList(list: Tokens.List) {
	const node = element(list.ordered ? 'ol' : 'ul', {
		className: list.loose ? 'list loose' : 'list',
	});
	if (list.start !== '') node.setAttribute('start', String(list.start));
	showTokens(node, list.items);
	return node;
}

function createTable(table: Tokens.Table) {
	return element('div', { className: 'table', tabIndex: 0 }, (box) => {
		// Focusable so that arrow keys scroll it where browsers would not see to that.
		box.setAttribute('role', 'region');
		box.setAttribute('aria-label', 'Table');
		const head = element('tr', {}, (row) => show(row, [], table.header, cell('th'), changeCell));
		const body = element('tbody', {}, (body) => show(body, [], table.rows, row, changeRow));
		const inner = document.createElement('table');
		inner.append(
			element('thead', {}, (thead) => thead.append(head)),
			body,
		);
		box.append(inner);
	});
}

function changeTable(box: Element, old: Tokens.Table, fresh: Tokens.Table): boolean {
	if (fresh.align.join() !== old.align.join()) return false;
	show(box.querySelector('tr')!, old.header, fresh.header, cell('th'), changeCell);
	show(box.querySelector('tbody')!, old.rows, fresh.rows, row, changeRow);
	return true;
}

const row = (cells: Tokens.TableCell[]) =>
	element('tr', {}, (row) => show(row, [], cells, cell('td'), changeCell));

const cell = (name: 'th' | 'td') => (token: Tokens.TableCell) =>
	element(name, {}, (node) => {
		if (token.align) node.style.textAlign = token.align;
		showTokens(node, children(token));
	});

function changeRow(node: Node, old: Tokens.TableCell[], fresh: Tokens.TableCell[]) {
	show(node as Element, old, fresh, cell('td'), changeCell);
	return true;
}

function changeCell(node: Node, old: Tokens.TableCell, fresh: Tokens.TableCell) {
	showTokens(node as Element, children(fresh), children(old));
	return true;
}

/** What is selected in a text stays selected while it grows. */
function changeText(node: Text, old: string, fresh: string) {
	if (fresh.startsWith(old)) node.appendData(fresh.slice(old.length));
	else node.data = fresh;
}

const withTokens = (name: string, token: { tokens: Token[] }) =>
	element(name as 'p', {}, (node) => showTokens(node, children(token)));

const link = (target: URL, label: Markdown[]) =>
	element(
		'a',
		{ href: target.href, title: target.href, target: '_blank', rel: 'noopener noreferrer' },
		(node) => showTokens(node, label),
	);

/** In a list's items text stands without a paragraph of its own. */
const children = ({ tokens }: { tokens: Token[] }) =>
	(tokens as Markdown[]).flatMap((token) => {
		if (token.type === 'text' && token.tokens) return token.tokens as Markdown[];
		return token.type === 'space' || token.type === 'def' ? [] : [token];
	});

const plain = (token: Tokens.Text | Tokens.Tag) =>
	'escaped' in token && token.escaped ? token.text : decodeEntities(token.text);

/** An element with these properties, filled before it is returned. */
function element<Name extends keyof HTMLElementTagNameMap>(
	name: Name,
	properties: Partial<HTMLElementTagNameMap[Name]>,
	fill?: (element: HTMLElementTagNameMap[Name]) => void,
): HTMLElementTagNameMap[Name] {
	const made = Object.assign(document.createElement(name), properties);
	fill?.(made);
	return made;
}
