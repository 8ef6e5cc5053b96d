import { MarkdownBlocks } from './markdown.ts';
import type { Markdown } from './markdown-lexer.ts';
import { showTokens } from './markdown-nodes.ts';

/** Between two changes that come quicker: to draw the page costs more than to change it. */
export const PAUSE_MS = 40;
/** For how long text is read and shown at a time; the rest follows in the next frame. */
const SLICE_MS = 10;
/** Reading more than this before looking at the clock might take longer than a slice. */
const PIECE = 4_096;
const HIDDEN_MS = 250;

/**
 * Shows an answer as it grows: a change that comes alone at once, others together after a pause, and
 * a long text in slices. One that is finished from the start is shown from its end, where one reads.
 */
export class MarkdownView {
	#root: Element;
	#markdown = new MarkdownBlocks();
	#next: { text: string; complete: boolean } | undefined;
	#text = '';
	#complete = false;
	/** How much of the text was read, and whether as a whole. */
	#read = 0;
	#finished = false;
	/** The groups as they are shown; those before `#start` are not yet. */
	#shown: Markdown[][] = [];
	#start = 0;
	#fromEnd = false;
	#piece = PIECE;
	#last = -Infinity;
	#cancel: (() => void) | undefined;

	constructor(root: Element) {
		this.#root = root;
	}

	/** Takes the whole text so far; `complete` says that no more will come. */
	update(text: string, complete: boolean) {
		this.#next = { text, complete };
		const pause = this.#last + PAUSE_MS - performance.now();
		if (this.#cancel) return;
		if (pause <= 0) this.#work();
		else this.#after(pause);
	}

	stop() {
		this.#cancel?.();
		this.#cancel = undefined;
	}

	/** Not before it is shown: to compare texts that grow by joining is to copy them. */
	#take({ text, complete }: { text: string; complete: boolean }) {
		if (!text.startsWith(this.#text)) this.#startOver();
		if (this.#read === 0) this.#fromEnd = complete;
		if (text !== this.#text || complete !== this.#complete) this.#finished = false;
		this.#text = text;
		this.#complete = complete;
		this.#next = undefined;
	}

	#startOver() {
		this.#read = this.#start = 0;
		this.#shown = [];
		this.#root.replaceChildren();
	}

	get #done() {
		return this.#finished && this.#start === 0;
	}

	#after(ms: number) {
		const timer = setTimeout(() => this.#work(), ms);
		this.#cancel = () => clearTimeout(timer);
	}

	#nextFrame() {
		// Frames do not come to a tab that nobody sees.
		if (document.hidden) return this.#after(HIDDEN_MS);
		const frame = requestAnimationFrame(() => this.#work());
		this.#cancel = () => cancelAnimationFrame(frame);
	}

	#work() {
		this.#cancel = undefined;
		this.#last = performance.now();
		if (this.#next) this.#take(this.#next);
		// What is short comes in one piece, however slow the moment.
		const end = this.#text.length <= PIECE ? Infinity : this.#last + SLICE_MS;
		while (!this.#done) {
			if (!this.#finished) this.#readOn();
			else this.#showBefore();
			if (performance.now() >= end) break;
		}
		if (!this.#done) this.#nextFrame();
	}

	#readOn() {
		const began = performance.now();
		this.#read = Math.min(this.#read + this.#piece, this.#text.length);
		const whole = this.#read === this.#text.length;
		const groups = this.#markdown.update(this.#text.slice(0, this.#read), whole && this.#complete);
		this.#finished = whole;
		// A block that goes on and on is read again with each piece: then fewer of them are cheaper.
		if (performance.now() - began > SLICE_MS) this.#piece *= 2;

		if (this.#fromEnd) {
			if (!whole) return;
			this.#fromEnd = false;
			this.#shown = groups;
			this.#start = groups.length;
		} else this.#showGrown(groups);
	}

	#showGrown(groups: Markdown[][]) {
		const { children } = this.#root;
		for (let index = this.#start; index < groups.length; index++) {
			const place = index - this.#start;
			const section = children[place] ?? this.#root.appendChild(document.createElement('section'));
			section.classList.toggle('full', index < groups.length - 1);
			const [fresh, old] = [groups[index]!, this.#shown[index]];
			if (fresh !== old) showTokens(section, fresh, old);
		}
		while (children.length > groups.length - this.#start) this.#root.lastChild!.remove();
		this.#shown = groups;
	}

	#showBefore() {
		this.#start--;
		const section = document.createElement('section');
		section.classList.toggle('full', this.#start < this.#shown.length - 1);
		showTokens(section, this.#shown[this.#start]!);
		this.#root.prepend(section);
	}
}
