import { walkTokens, type Tokens } from 'marked';
import { OpenFence } from './fence.ts';
import { lex, type Definitions, type Markdown } from './markdown-lexer.ts';

const GROUP = 8;

/**
 * An answer that is still being written, as Markdown blocks. Only its end is lexed again when it
 * grows; what no later text can change is settled, and keeps its place and its identity.
 */
export class MarkdownBlocks {
	/** The blocks in runs of 8, so that a page can skip whole runs that are out of sight. */
	groups: Markdown[][] = [];

	#text = '';
	#complete = false;
	#tail = '';
	#fence: OpenFence | undefined;
	#settled: { source: string; blocks: number }[] = [];
	#settledBlocks = 0;
	#definitions: Definitions = Object.create(null);
	/** Whether anything ever looked like a definition, perhaps one half written. */
	#defining = false;

	get blocks(): Markdown[] {
		return this.groups.flat();
	}

	/** Takes the whole text so far; `complete` says that no more will come. */
	update(text: string, complete = false): Markdown[][] {
		if (text === this.#text && complete === this.#complete) return this.groups;

		this.#complete = complete;
		this.#read(text, complete);
		if (complete) this.#finish();
		else this.#advance();
		return this.groups;
	}

	#read(text: string, complete: boolean) {
		// A carriage return may be half of a line end: wait for the rest, or begin again.
		if (!text.startsWith(this.#text) || this.#text.endsWith('\r')) this.#startOver();
		const known = complete || !text.endsWith('\r') ? text : text.slice(0, -1);

		this.#tail += known.slice(this.#text.length).replace(/\r\n?/g, '\n');
		this.#text = known;
	}

	#startOver() {
		this.#text = this.#tail = '';
		this.#fence = undefined;
		this.#settled = [];
		this.#settledBlocks = 0;
		this.#definitions = Object.create(null);
		this.#defining = false;
	}

	#advance() {
		const source = withoutUndecidedLine(this.#tail);
		this.#fence ??= OpenFence.at(source);
		const code = this.#fence?.token(source);
		if (code) return this.#show(this.#settledBlocks, [code]);

		const tokens = this.#lexTail(source);
		this.#show(this.#settledBlocks, tokens);
		this.#settle(tokens.slice(0, settledCount(tokens, source)));
	}

	#finish() {
		const tokens = this.#lexTail(this.#tail);
		if (!this.#defining) return this.#show(this.#settledBlocks, tokens);

		// A definition may come after its use: lex again what may use one.
		let start = 0;
		const blocks = this.blocks;
		const settled = this.#settled.flatMap(({ source, blocks: count }) => {
			const before = blocks.slice(start, (start += count));
			return source.includes('[') ? lex(source, tokens.links) : before;
		});
		this.#show(0, [...settled, ...tokens]);
	}

	#lexTail(source: string) {
		const tokens = lex(source, this.#definitions);
		this.#defining ||= Object.keys(tokens.links).length > 0;
		return tokens;
	}

	#settle(tokens: Markdown[]) {
		if (tokens.length === 0) return;

		const source = tokens.map((token) => token.raw).join('');
		const blocks = tokens.filter(visible).length;
		void walkTokens(tokens, (token) => {
			if (token.type === 'def') this.#definitions[token.tag] ??= token as Tokens.Def;
		});
		this.#settled.push({ source, blocks });
		this.#settledBlocks += blocks;
		this.#tail = this.#tail.slice(source.length);
		this.#fence = undefined;
	}

	/** Replaces the blocks from the given place on; those that are equal stay the same objects. */
	#show(from: number, tokens: Markdown[]) {
		const first = Math.floor(from / GROUP);
		const groups = this.groups.slice(0, first);
		const begun = this.groups[first]?.slice(0, from % GROUP) ?? [];
		const blocks = [...begun, ...tokens.filter(visible)];

		for (let start = 0; start < blocks.length; start += GROUP) {
			const group = blocks.slice(start, start + GROUP);
			groups.push(shared(this.groups[groups.length], group));
		}
		this.groups = groups;
	}
}

function visible({ type }: Markdown) {
	return type !== 'space' && type !== 'def';
}

/** Without a last line of mere markers: `-` may yet underline a heading, begin an item, be a rule. */
function withoutUndecidedLine(source: string) {
	const line = source.slice(source.lastIndexOf('\n') + 1);
	const undecided = /^[ \t]*(?:[-+*=_#>`~|: \t]*|\d{1,9}[.)]?[ \t]*)$/.test(line);
	return undecided ? source.slice(0, source.length - line.length) : source;
}

/** How many of the first blocks no later text can change. */
function settledCount(tokens: Markdown[], source: string) {
	let count = 0;
	let offset = 0;
	for (const [index, token] of tokens.entries()) {
		const previous = tokens[index - 1];
		if (previous && token.type !== 'space') {
			const apart = previous.type === 'space' || fenced(token);
			if (selfContained(previous) || (apart && beginsWithWholeLine(source, offset))) count = index;
		}
		offset += token.raw.length;
	}
	return count;
}

/** A list goes on after blank lines, so what comes next is clear when its first line is whole. */
function beginsWithWholeLine(source: string, start: number) {
	const end = source.indexOf('\n', start);
	// To marked a line of no-break spaces is blank in a list, and a paragraph elsewhere.
	return end !== -1 && source.slice(start, end).trim() !== '';
}

function fenced(token: Markdown) {
	return token.type === 'code' && token.codeBlockStyle !== 'indented';
}

function selfContained(token: Markdown) {
	return token.type === 'heading' || token.type === 'hr' || fenced(token);
}

/** `fresh`, but with every part that has not changed replaced by its counterpart in `old`. */
function shared<T>(old: unknown, fresh: T): T {
	if (!isObject(old) || !isObject(fresh)) return fresh;

	const parts: Record<string, unknown> = fresh;
	let same = true;
	let count = 0;
	for (const key in parts) {
		count++;
		if (parts[key] === old[key]) continue;
		parts[key] = shared(old[key], parts[key]);
		same &&= parts[key] === old[key];
	}
	return same && count === Object.keys(old).length ? (old as T) : fresh;
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null;
}
