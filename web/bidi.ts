const CONTROL = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const SPLIT = /([\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])/;

export const hasBidi = (text: string) => CONTROL.test(text);

/** A stretch of text as it is, or the visible name of a control character. */
export type Part = { text: string; control: boolean };

/**
 * Names the characters that silently reorder what surrounds them, so that code and output cannot
 * read otherwise than they run ("Trojan Source").
 */
export function revealBidi(text: string): Part[] {
	if (!hasBidi(text)) return [{ text, control: false }];

	return text
		.split(SPLIT)
		.map((part, index) => ({ text: index % 2 ? named(part) : part, control: index % 2 === 1 }))
		.filter((part) => part.text !== '');
}

function named(character: string) {
	return `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

/** {@link revealBidi} as plain text. */
export const showBidi = (text: string) =>
	revealBidi(text)
		.map((part) => part.text)
		.join('');
