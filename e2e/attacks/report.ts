/** One line of the table. */
export interface Line {
	attack: string;
	request: string;
	expected: string;
	answer: string;
	verdict: 'held' | 'FAILED' | 'skipped';
}

/** What was tried, and what came of it. A line holds when the answer is the expected one, word for word. */
export class Report {
	lines: Line[] = [];
	#attack = '';
	#shown: (line: Line) => void;

	constructor(shown: (line: Line) => void) {
		this.#shown = shown;
	}

	/** Names the attack that the lines to come belong to. */
	begin(attack: string) {
		this.#attack = attack;
	}

	line(request: string, expected: string, answer: string) {
		const verdict = answer === expected ? 'held' : 'FAILED';
		this.#add({ attack: this.#attack, request, expected, answer, verdict });
	}

	skip(request: string, expected: string, reason: string) {
		this.#add({ attack: this.#attack, request, expected, answer: reason, verdict: 'skipped' });
	}

	/** What went wrong with the attack itself is a failure: nothing was shown. */
	broken(error: unknown) {
		const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
		const where = /attacks\/[\w-]+\.ts:\d+/.exec(stack)?.[0] ?? '';
		// Playwright colours its messages and adds what it tried.
		const plain = message.replace(/\u001b\[\d+m/g, '').replace(/\s+/g, ' ');
		this.line('all of it', 'it can be tried', `${plain.slice(0, 400)} (${where})`);
	}

	count(verdict: Line['verdict']) {
		return this.lines.filter((line) => line.verdict === verdict).length;
	}

	#add(line: Line) {
		this.lines.push(line);
		this.#shown(line);
	}
}

const COLUMNS = ['attack', 'request', 'expected', 'answer', 'verdict'] as const;
const WIDEST = 48;

type Cells = Record<(typeof COLUMNS)[number], string>;

export function table(lines: Line[]): string {
	const head = Object.fromEntries(COLUMNS.map((column) => [column, column])) as Cells;
	const widths = COLUMNS.map((column) =>
		Math.max(...[head, ...lines].map((line) => Math.min(line[column].length, WIDEST))),
	);
	const show = (line: Cells) =>
		COLUMNS.map((column, index) => line[column].padEnd(widths[index]!))
			.join('  ')
			.trimEnd();
	const rule = widths.map((width) => '-'.repeat(width)).join('  ');
	return [show(head), rule, ...lines.map(show)].join('\n');
}
