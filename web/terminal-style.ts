import Anser from 'anser';

/** How a stretch of output looks: CSS colours, and classes for the rest. */
export type Style = { colour?: string; ground?: string; classes: string };

const CLASSES = new Map([
	['bold', 'bold'],
	['dim', 'dim'],
	['italic', 'italic'],
	['underline', 'underlined'],
	['strikethrough', 'struck'],
	['reverse', 'inverse'],
]);

/** What "select graphic rendition" has selected so far. */
export class Pen {
	style: Style = { classes: '' };

	#anser = new Anser();

	/** Takes the parameters of one such sequence, as in `1;31`. */
	select(parameters: string) {
		const sequence = `${withoutColons(parameters)}m`;
		const state = this.#anser.processChunkJson(sequence, { use_classes: true }, true);

		// Anser keeps this very array, and "not bold" takes only one "bold" from it.
		state.decorations.splice(0, Infinity, ...new Set(state.decorations));

		this.style = {
			colour: css(state.fg, state.fg_truecolor),
			ground: css(state.bg, state.bg_truecolor),
			classes: state.decorations.flatMap((name) => CLASSES.get(name) ?? []).join(' '),
		};
	}
}

/** Anser knows `38;2;r;g;b`, not `38:2::r:g:b`; nor underline shapes (`4:3`) and colours (`58`). */
function withoutColons(parameters: string) {
	return parameters
		.replace(/\b58[:;](?:5[:;]\d*|2[:;]:?\d*[:;]\d*[:;]\d*)/g, '10')
		.replace(/([34]8):2:(?:\d*:)?(\d+):(\d+):(\d+)/g, '$1;2;$2;$3;$4')
		.replace(/([34]8):5:(\d+)/g, '$1;5;$2')
		.replace(/:[\d:]*/g, '');
}

/** Anser's name of a colour (`ansi-red`, `ansi-palette-208`, `ansi-truecolor`) in CSS. */
function css(name: string | null, trueColour: string | null) {
	if (!name) return undefined;
	if (name === 'ansi-truecolor') return `rgb(${trueColour})`;

	const palette = /^ansi-palette-(\d+)$/.exec(name);
	return palette ? paletteColour(Number(palette[1])) : `var(--${name})`;
}

/** Colours 16 to 255: a cube of six levels, then greys. */
function paletteColour(index: number) {
	if (index >= 232) return `rgb(${Array(3).fill((index - 232) * 10 + 8)})`;

	const level = (step: number) => (step % 6 === 0 ? 0 : 55 + 40 * (step % 6));
	const cube = index - 16;
	return `rgb(${[level(Math.floor(cube / 36)), level(Math.floor(cube / 6)), level(cube)]})`;
}
