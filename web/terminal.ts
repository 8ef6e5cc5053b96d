import { revealBidi } from './bidi.ts';
import { Pen, type Style } from './terminal-style.ts';

/** A stretch of one line in one style; `control` marks the name of a hidden character. */
export type Span = { text: string; style: Style; control: boolean };
export type Line = { id: number; spans: Span[] };

const SEQUENCES = new RegExp(
	[
		/(?<text>(?:[\t -~\u00a0-\ud7ff\udc00-\uffff]+|[\ud800-\udbff](?!$))+)/,
		/(?:\x1b\[|\x9b)(?<parameters>[0-?]*)(?<final>[ -/]*[@-~])/,
		// Titles, links, images and the like: up to their end, or up to what cannot be part of them.
		/(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\n\x07\x18\x1a\x1b\x9c]*(?:\x07|\x9c|\x1b\\|(?=[\n\x18\x1a]|\x1b[^]))/,
		/(?<unfinished>(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\n\x07\x18\x1a\x1b\x9c]*\x1b?|\x1b[ -/]*|[\ud800-\udbff])$)/,
		/(?:\x1b\[|\x9b)[0-?]*[ -/]*/,
		/\x1b[ -/]*[0-~]/,
		/(?<control>[^])/,
	]
		.map((part) => part.source)
		.join('|'),
	'g',
);

/** The shortest beginning by which a window on older output is recognised. */
const OVERLAP = 256;

/** What a terminal would show of a command's output, line by line. */
export class Terminal {
	lines: Line[] = [];

	#text = '';
	#unfinished = '';
	#finished: Line[] = [];
	#nextId = 0;
	#pen = new Pen();
	#characters: string[] = [];
	#styles: Style[] = [];
	#column = 0;

	/** Takes the whole output so far, or its end: what has already been taken is not read again. */
	update(text: string): Line[] {
		const gone = scrolledAway(this.#text, text);
		if (gone === undefined) this.#startOver();
		else this.#finished.splice(0, count(this.#text.slice(0, gone), '\n'));

		this.#write(text.slice(this.#text.length - (gone ?? 0)));
		this.#text = text;
		this.lines =
			this.#characters.length > 0 ? [...this.#finished, this.#line()] : [...this.#finished];
		return this.lines;
	}

	#startOver() {
		this.#text = this.#unfinished = '';
		this.#finished = [];
		this.#nextId = 0;
		this.#pen = new Pen();
		this.#clear();
	}

	#write(text: string) {
		const input = this.#unfinished + text;
		this.#unfinished = '';
		for (const { groups } of input.matchAll(SEQUENCES)) {
			const { text, final, parameters = '', unfinished, control } = groups!;
			if (text !== undefined) this.#put(text);
			else if (final !== undefined) this.#obey(final, parameters);
			else if (control !== undefined) this.#control(control);
			else this.#unfinished = unfinished ?? '';
		}
	}

	#put(text: string) {
		for (const character of text) {
			this.#characters[this.#column] = character;
			this.#styles[this.#column] = this.#pen.style;
			this.#column++;
		}
	}

	#control(character: string) {
		if (character === '\n') {
			this.#finished.push(this.#line());
			this.#nextId++;
			this.#clear();
		} else if (character === '\r') this.#column = 0;
		else if (character === '\b') this.#column = Math.max(0, this.#column - 1);
	}

	/** Only what stays on its line: a transcript has no screen to move about on. */
	#obey(final: string, parameters: string) {
		if (final === 'm' && /^[\d:;]*$/.test(parameters)) this.#pen.select(parameters);
		else if (final === 'K') this.#erase(parameters);
		// Programs return to the first column with this as often as with a carriage return.
		else if (final === 'G')
			this.#column = Math.min(this.#column, Math.max(0, +parameters - 1) || 0);
	}

	#erase(parameters: string) {
		if (parameters === '2') this.#clear();
		else if (parameters === '1') {
			this.#characters.fill(' ', 0, this.#column + 1);
			this.#styles.fill(this.#pen.style, 0, this.#column + 1);
		} else this.#characters.length = this.#styles.length = this.#column;
	}

	#clear() {
		this.#characters = [];
		this.#styles = [];
		this.#column = 0;
	}

	#line(): Line {
		const spans: Span[] = [];
		let start = 0;
		for (let end = 1; end <= this.#characters.length; end++) {
			const style = this.#styles[start]!;
			if (this.#styles[end] === style) continue;

			const text = this.#characters.slice(start, end).join('');
			for (const part of revealBidi(text)) spans.push({ ...part, style });
			start = end;
		}
		return { id: this.#nextId, spans };
	}
}

/**
 * How much of the output before is no longer in `after`, which either goes on where it ended or is
 * a window on its end that has moved on; nothing if they have nothing in common.
 */
function scrolledAway(before: string, after: string) {
	if (after.startsWith(before)) return 0;
	if (after.length < OVERLAP) return undefined;

	const beginning = after.slice(0, OVERLAP);
	for (let at = before.indexOf(beginning); at !== -1; at = before.indexOf(beginning, at + 1)) {
		if (after.startsWith(before.slice(at))) return at;
	}
	return undefined;
}

function count(text: string, character: string) {
	return text.split(character).length - 1;
}
