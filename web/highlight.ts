import type { ShjToken } from '@speed-highlight/core';

/** A stretch of code and what it is, so far as its colour goes. */
export type Span = { text: string; kind?: ShjToken };

const LANGUAGES =
	'asm bash c css csv diff docker git go html http ini java js jsdoc json log lua make md pl py regex ' +
	'rs sql toml ts uri xml yaml';

const ALSO_CALLED = {
	bash: 'sh shell zsh console shellsession terminal',
	c: 'h cpp c++ cc cxx hpp cs csharp c#',
	docker: 'dockerfile',
	html: 'svelte vue htm',
	ini: 'env properties conf',
	java: 'kotlin kt scala',
	js: 'javascript jsx mjs cjs node',
	json: 'jsonc json5 jsonl',
	css: 'scss less',
	make: 'makefile',
	md: 'markdown',
	diff: 'patch',
	go: 'golang',
	pl: 'perl',
	py: 'python python3',
	rs: 'rust',
	ts: 'typescript tsx mts cts',
	xml: 'svg',
	yaml: 'yml',
};

const names = new Map(LANGUAGES.split(' ').map((name) => [name, name]));
for (const [language, others] of Object.entries(ALSO_CALLED)) {
	for (const name of others.split(' ')) names.set(name, language);
}

const PIECE_LINES = 100;
// The tokenizer's patterns take quadratic time on long words: 35 s on 60 KB of `aaaa…`.
const LONGEST_LINE = 400;
const LONGEST_PIECE = 12_000;

/** Cuts after every hundredth line. */
export function pieces(code: string): string[] {
	const cut: string[] = [];
	let start = 0;
	for (
		let lines = 1, at = code.indexOf('\n');
		at !== -1;
		lines++, at = code.indexOf('\n', at + 1)
	) {
		if (lines % PIECE_LINES === 0) cut.push(code.slice(start, (start = at + 1)));
	}
	if (start < code.length || start === 0) cut.push(code.slice(start));
	return cut;
}

/** The spans of a piece of code, or nothing when its language is not known or its lines too long. */
export async function highlight(piece: string, name: string): Promise<Span[] | undefined> {
	const language = names.get(name.toLowerCase());
	if (!language || piece.length > LONGEST_PIECE) return undefined;
	if (piece.split('\n').some((line) => line.length > LONGEST_LINE)) return undefined;

	const { tokenize } = await import('@speed-highlight/core');
	const spans: Span[] = [];
	await tokenize(piece, language, (text, kind) => {
		if (text !== '') spans.push({ text, kind });
	});
	return spans;
}
