import { Lexer, Tokenizer, type Links, type MarkedToken, type Token } from 'marked';

/** Markdown's tokens, all of them: we add no extension, so `Tokens.Generic` never occurs. */
export type Markdown = MarkedToken;
export type Definitions = Links;

// Deeper than people nest, shallower than the stack: `>>>>…` would end the page otherwise.
const MAX_DEPTH = 24;

/** Keeps a block's meaning within the block, so that blocks can be lexed one by one. */
class LocalTokenizer extends Tokenizer {
	/** An `<a>` left open would turn off plain links in every later block; to us tags are text. */
	override tag(source: string) {
		const { inLink, inRawBlock } = this.lexer.state;
		const token = super.tag(source);
		Object.assign(this.lexer.state, { inLink, inRawBlock });
		return token;
	}

	/** A definition ends with its paragraph, says CommonMark; marked lets a title run on. */
	override def(source: string) {
		if (!/^ {0,3}\[/.test(source)) return undefined;

		const [paragraph = ''] = this.rules.block.paragraph.exec(source) ?? [];
		const [definition = ''] = paragraph.split(/\n {0,3}(?:=+|-+)[ \t]*(?:\n|$)/, 1);
		return super.def(definition);
	}
}

class ShallowLexer extends Lexer {
	#depth = 0;

	override blockTokens(source: string, tokens: Token[] = [], lastParagraphClipped?: boolean) {
		return this.#nested(source, tokens, () => {
			return super.blockTokens(source, tokens, lastParagraphClipped);
		}) as Lexer['tokens'];
	}

	override inlineTokens(source: string, tokens: Token[] = []) {
		return this.#nested(source, tokens, () => super.inlineTokens(source, tokens));
	}

	#nested(source: string, tokens: Token[], lex: () => Token[]) {
		if (this.#depth === MAX_DEPTH) {
			this.state.top = true;
			tokens.push({ type: 'text', raw: source, text: source });
			return tokens;
		}

		this.#depth++;
		try {
			return lex();
		} finally {
			this.#depth--;
		}
	}
}

const options = { gfm: true, tokenizer: new LocalTokenizer() };

/** GitHub's Markdown into tokens; `definitions` are the link targets defined elsewhere. */
export function lex(source: string, definitions: Definitions = {}) {
	const lexer = new ShallowLexer(options);
	Object.assign(lexer.tokens.links, definitions);
	return lexer.lex(source) as Markdown[] & { links: Definitions };
}
