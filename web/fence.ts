import type { Tokens } from 'marked';
import { lex } from './markdown-lexer.ts';

/** Whether the fence of a code block has its end, or is still being written. */
export function closed({ raw, codeBlockStyle }: Tokens.Code): boolean {
	const written = raw.trimEnd();
	const lastLine = written.lastIndexOf('\n') + 1;
	return (
		codeBlockStyle === 'indented' ||
		(lastLine > 0 && /^ {0,3}(?:`{3,}|~{3,})$/.test(written.slice(lastLine)))
	);
}

/** A code fence that text begins with: until its end is written nothing in it needs lexing. */
export class OpenFence {
	#token: Tokens.Code;
	#start: number;
	#end: RegExp;
	#searched: number;

	static at(source: string): OpenFence | undefined {
		const [opening, marker] = /^(`{3,}|~{3,}).*\n/.exec(source) ?? [];
		const token = opening && lex(opening)[0];
		return token && token.type === 'code' ? new OpenFence(token, opening, marker!) : undefined;
	}

	private constructor(token: Tokens.Code, opening: string, marker: string) {
		this.#token = token;
		this.#start = opening.length;
		this.#end = new RegExp(`\n {0,3}${marker}${marker[0]}* *\n`, 'g');
		this.#searched = opening.length - 1;
	}

	/** The block so far, as marked would have it, if `source` does not end it. */
	token(source: string): Tokens.Code | undefined {
		this.#end.lastIndex = this.#searched;
		if (this.#end.test(source)) return undefined;

		this.#searched = source.lastIndexOf('\n');
		const body = source.slice(this.#start);
		const text = /(?:^|\n)\n$/.test(body.slice(-2)) ? body : body.replace(/\n$/, '');
		return { ...this.#token, raw: source, text };
	}
}
