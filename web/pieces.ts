import type { Line, Span } from './terminal.ts';

/** Lines that are drawn together; `spans` hold their line breaks. */
export type Piece = { id: number; lines: Line[]; spans: Span[] };

/** Few elements to draw, and not much to draw again when a line changes. */
const LINES = 50;

/** Output in pieces: one whose lines have not changed is the same object as before. */
export class Pieces {
	#before = new Map<number, Piece>();

	/** Takes all lines that are to be seen, in order. */
	update(lines: Line[]): Piece[] {
		const pieces = new Map<number, Piece>();
		for (let start = 0; start < lines.length;) {
			const first = lines[start]!.id;
			const end = start + LINES - (first % LINES);
			const members = lines.slice(start, end);
			const id = Math.floor(first / LINES);
			const known = this.#before.get(id);
			pieces.set(id, known && same(known.lines, members) ? known : piece(id, members));
			start = end;
		}
		this.#before = pieces;
		return [...pieces.values()];
	}
}

const same = (one: Line[], other: Line[]) =>
	one.length === other.length && one.every((line, index) => line === other[index]);

/** Spans that look alike become one, across their lines. */
function piece(id: number, lines: Line[]): Piece {
	const spans: Span[] = [];
	for (const line of lines) {
		for (const span of line.spans) add(spans, span);
		const last = spans.at(-1);
		if (last && !last.control) last.text += '\n';
		else spans.push({ text: '\n', style: { classes: '' }, control: false });
	}
	return { id, lines, spans };
}

function add(spans: Span[], span: Span) {
	const last = spans.at(-1);
	if (last && last.style === span.style && last.control === span.control) last.text += span.text;
	else spans.push({ ...span });
}
