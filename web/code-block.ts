import type { Tokens } from 'marked';
import { hasBidi, revealBidi } from './bidi.ts';
import { closed } from './fence.ts';
import { highlight, pieces, type Span } from './highlight.ts';
import { onceInSight } from './in-sight.ts';

const COPIED_MS = 2_000;

/** A code block with its language and a button that copies it; its colours come when it is seen. */
export class CodeBlock {
	readonly element = document.createElement('figure');
	#language = document.createElement('span');
	#copy = document.createElement('button');
	#pre = document.createElement('pre');
	#pieces: string[] = [];
	#coloured = '';

	constructor(token: Tokens.Code) {
		const caption = document.createElement('figcaption');
		caption.append(this.#language, this.#copy);
		this.element.append(caption, this.#pre);
		this.#copy.textContent = 'Copy';
		this.#copy.ariaLive = 'polite';
		this.#copy.onclick = () => void this.#copyCode();
		// Focusable so that arrow keys scroll it where browsers would not see to that.
		this.#pre.tabIndex = 0;
		this.update(token);
	}

	update(token: Tokens.Code) {
		const language = token.lang?.split(/\s/)[0] ?? '';
		const code = token.text.replace(/\n$/, '');
		this.#language.textContent = language;
		this.#show(pieces(code));

		const wanted = closed(token) && language !== '' ? `${language}\n${code}` : '';
		if (wanted === this.#coloured) return;
		this.#coloured = wanted;
		if (wanted !== '') onceInSight(this.element, () => void this.#colour(language, wanted));
	}

	#show(fresh: string[]) {
		for (const [index, piece] of fresh.entries()) {
			const old = this.#pieces[index];
			if (piece === old) continue;
			const line =
				this.#pre.children[index] ?? this.#pre.appendChild(document.createElement('code'));
			const only = line.childNodes.length === 1 ? line.firstChild : null;
			const more = old !== undefined && piece.startsWith(old) ? piece.slice(old.length) : undefined;
			// What is selected stays selected while the code grows.
			if (only instanceof Text && more !== undefined && !hasBidi(more)) only.appendData(more);
			else fill(line, [{ text: piece }]);
		}
		while (this.#pre.children.length > fresh.length) this.#pre.lastChild!.remove();
		this.#pieces = fresh;
	}

	async #colour(language: string, wanted: string) {
		for (const [index, piece] of this.#pieces.entries()) {
			const spans = await highlight(piece, language);
			if (wanted !== this.#coloured || !this.element.isConnected) return;

			if (spans) fill(this.#pre.children[index]!, spans);
			// Thousands of lines at once would hold up typing and scrolling.
			await new Promise((resolve) => setTimeout(resolve));
		}
	}

	async #copyCode() {
		try {
			await navigator.clipboard.writeText(this.#pieces.join(''));
			this.#copy.textContent = 'Copied';
		} catch {
			// Refused, or there is no clipboard because the page came over plain HTTP.
			this.#copy.textContent = 'Not allowed';
		}
		setTimeout(() => (this.#copy.textContent = 'Copy'), COPIED_MS);
	}
}

function fill(line: Element, spans: Span[]) {
	const nodes = spans.flatMap(({ text, kind }) =>
		revealBidi(text).map((part) => {
			const name = part.control ? 'bidi' : kind;
			if (name === undefined) return part.text;
			const span = document.createElement('span');
			span.className = name;
			span.textContent = part.text;
			return span;
		}),
	);
	line.replaceChildren(...nodes);
}
