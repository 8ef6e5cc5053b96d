import type { Judged } from './report.ts';

const LEGEND = `A figure is the median of the runs, each of which is in the JSON. OVER fails the run: a ratio, a growth
or an amount of bytes, which are the same on any machine. "over (absolute)" does not: times in ms depend
on the machine and on what else it does, and this one may be busy. Main-thread time is the processor
time of the page's main thread in Chromium's own trace; task lengths are by the clock.`;

/** All figures with their budgets. */
export function table(figures: Judged[]): string {
	const lines = figures.map(({ what, value, unit, budget, atLeast, verdict }) => [
		what,
		`${round(value)} ${unit}`,
		budget === null ? '' : `${atLeast ? '≥' : '≤'} ${budget} ${unit}`,
		verdict,
	]);
	const head = ['what', 'figure', 'budget', 'verdict'];
	const widths = head.map((word, column) =>
		Math.max(word.length, ...lines.map((line) => line[column]!.length)),
	);
	const show = (line: string[]) =>
		line
			.map((word, column) =>
				column === 1 || column === 2
					? word.padStart(widths[column]!)
					: word.padEnd(widths[column]!),
			)
			.join('  ')
			.trimEnd();

	const shown = [show(head), widths.map((width) => '-'.repeat(width)).join('  ')];
	for (const [index, { row }] of figures.entries()) {
		if (row !== figures[index - 1]?.row) shown.push(`${row}:`);
		shown.push(show(lines[index]!));
	}
	return `${shown.join('\n')}\n\n${LEGEND}`;
}

export const round = (value: number) =>
	value === 0
		? '0'
		: Math.abs(value) >= 100
			? value.toFixed(0)
			: value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
