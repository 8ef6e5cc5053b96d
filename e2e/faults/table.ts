import type { Result } from './tally.ts';

/** One line about a row that has just ended. */
export const describe = (row: Result) =>
	`${verdict(row).padEnd(8)}${row.fault} (${row.seconds.toFixed(1)} s)${row.problems
		.map((problem) => `\n          ${problem}`)
		.join('')}`;

/** All rows, and below each what is to be said of it. */
export function table(rows: Result[]): string {
	const lines = rows.map((row) => [
		row.fault,
		String(row.runs),
		String(row.lost),
		String(row.doubled),
		String(row.leftOver),
		verdict(row),
	]);
	const head = ['fault', 'runs', 'lost', 'doubled', 'left over', 'result'];
	const widths = head.map((word, column) =>
		Math.max(word.length, ...lines.map((line) => line[column]!.length)),
	);
	const show = (line: string[]) =>
		line
			.map((word, column) =>
				column === 0 ? word.padEnd(widths[column]!) : word.padStart(widths[column]!),
			)
			.join('  ')
			.trimEnd();

	return [
		show(head),
		widths.map((width) => '-'.repeat(width)).join('  '),
		...rows.flatMap((row, index) => [
			show(lines[index]!),
			...details(row).map((line) => `    ${line}`),
		]),
	].join('\n');
}

function details({ measures, notes, problems, skipped }: Result): string[] {
	return [
		...measures.map(({ what, median, worst, limit, of, unit, values, met }) => {
			const figures =
				values.length === 1
					? round(worst)
					: `${round(median)} median, ${round(worst)} worst of ${values.length}`;
			return `${met ? '✓' : '✗'} ${what}: ${figures} ${unit} (limit ${limit}, ${of})`;
		}),
		...notes.map((note) => `· ${note}`),
		...(skipped === null ? [] : [`· skipped: ${skipped}`]),
		...problems.map((problem) => `✗ ${problem}`),
	];
}

const verdict = (row: Result) =>
	row.skipped !== null ? 'skipped' : row.passed ? 'passed' : 'FAILED';

const round = (value: number) => (value >= 10 ? value.toFixed(0) : value.toFixed(1));
