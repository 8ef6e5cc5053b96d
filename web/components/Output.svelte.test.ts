import { expect, test } from 'vitest';
import { render } from 'vitest-browser-svelte';
import '../app.css';
import Output from './Output.svelte';

// Svelte warns of the character itself, and of its escape.
const OVERRIDE = String.fromCharCode(0x202e);

function pieces(container: Element) {
	return [...container.querySelectorAll('.piece')];
}

test('output is shown as it was printed, in its colours', async () => {
	const { container } = await render(Output, {
		text: 'plain\n\x1b[1;31mred\x1b[0m and \x1b[38;2;9;9;9mexact\x1b[0m\n\n  10%\r  20%',
	});

	expect(container.textContent).toBe('plain\nred and exact\n\n  20%\n');
	const [piece] = pieces(container);
	const lineHeight = parseFloat(getComputedStyle(piece!).lineHeight);
	expect(Math.round(piece!.getBoundingClientRect().height / lineHeight)).toBe(4);

	const span = piece!.querySelector('.bold')!;
	expect(span.textContent).toBe('red');
	expect(getComputedStyle(span).color).not.toBe(getComputedStyle(piece!).color);
	expect(getComputedStyle(span).fontWeight).toBe('650');
});

test.each(['light', 'dark'])('every colour can be read in the %s scheme', async (scheme) => {
	document.documentElement.style.colorScheme = scheme;
	const codes = [...Array(8).keys()].flatMap((index) => [30 + index, 90 + index]);
	const exact = ['255;255;255', '0;0;0', '255;255;0', '0;0;255', '128;128;128'];
	const selections = [...codes, ...exact.map((colour) => `38;2;${colour}`)];
	const text = selections.flatMap((code) => [`\x1b[0;${code}mx`, `\x1b[0;7;${code}mx`]).join('');
	const { container } = await render(Output, { text });

	container.style.background = 'var(--sunk)';
	const ground = getComputedStyle(container).backgroundColor;
	for (const span of container.querySelectorAll('.piece > span')) {
		const { color, backgroundColor } = getComputedStyle(span);
		const behind = span.classList.contains('inverse') ? backgroundColor : ground;
		expect(contrast(color, behind), span.outerHTML).toBeGreaterThanOrEqual(4.5);
	}
	document.documentElement.style.colorScheme = '';
});

test('lines that are finished are not drawn again', async () => {
	const printed = Array.from({ length: 170 }, (_, index) => `line ${index}\n`);
	const { container, rerender } = await render(Output, { text: printed.slice(0, 120).join('') });
	const before = pieces(container);
	const texts = before.map((piece) => piece.firstElementChild!.firstChild);
	await rerender({ text: printed.join('') });

	const after = pieces(container);
	expect(after).toHaveLength(4);
	expect(after.slice(0, 3)).toEqual(before);
	expect(after[0]!.firstElementChild!.firstChild).toBe(texts[0]);
	expect(after[1]!.firstElementChild!.firstChild).toBe(texts[1]);
	expect(container.textContent).toBe(printed.join(''));

	// The window on it moves on.
	await rerender({ text: printed.slice(60).join('') });
	expect(pieces(container).slice(1)).toEqual(after.slice(2));
	expect(container.textContent).toBe(printed.slice(60).join(''));
});

test('what a command prints stays text', async () => {
	const { container } = await render(Output, { text: '<img src=x onerror=alert(1)>' + OVERRIDE });
	expect(container.querySelector('img')).toBeNull();
	expect(container.querySelector('.bidi')!.textContent).toBe('⟨U+202E⟩');
});

function contrast(one: string, other: string) {
	const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b);
	return (lighter! + 0.05) / (darker! + 0.05);
}

function luminance(colour: string) {
	const canvas = new OffscreenCanvas(1, 1).getContext('2d')!;
	canvas.fillStyle = colour;
	canvas.fillRect(0, 0, 1, 1);
	const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data]
		.map((value) => value / 255)
		.map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
	return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}
