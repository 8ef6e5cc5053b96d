import { Random } from './random.ts';
import type { Browser } from 'playwright';

/** One line of the matrix: a fault, and what must be seen of it. */
export interface Row {
	name: string;
	/** In words; the figures are in what the row measures. */
	must: string;
	/** Rows that measure how fast something is share the machine with nothing else. */
	alone?: boolean;
	run(tally: Tally, tools: Tools): Promise<void>;
}

export interface Tools {
	browser: Browser;
	random: Random;
	/** How often: in the short form, and in the full one. */
	times(short: number, full: number): number;
}

/** Times of one kind, against their limit: each of them, or their median. */
interface Measure {
	what: string;
	limit: number;
	of: 'each' | 'median';
	unit: string;
	values: number[];
}

export interface Result {
	fault: string;
	must: string;
	runs: number;
	lost: number;
	doubled: number;
	leftOver: number;
	measures: (Measure & { median: number; worst: number; met: boolean })[];
	notes: string[];
	problems: string[];
	skipped: string | null;
	passed: boolean;
	seconds: number;
}

/** What one row found. Nothing is a figure that was not counted or measured here. */
export class Tally {
	/** By how much each limit in time is wider than said: the machine may be busy with other things. */
	slack: number;
	runs = 0;
	skipped: string | null = null;
	#lost: string[] = [];
	#doubled: string[] = [];
	#leftOver: string[] = [];
	#measures: Measure[] = [];
	#notes: string[] = [];
	#problems: string[] = [];

	constructor(slack = 1) {
		this.slack = slack;
	}

	/** Something that was asked for and came to nothing, and nobody was told. */
	lost(what: string) {
		this.#lost.push(what);
		this.problem(`lost: ${what}`);
	}

	doubled(what: string) {
		this.#doubled.push(what);
		this.problem(`doubled: ${what}`);
	}

	/** Processes that should have ended. */
	leftOver(found: { pid: number; command: string }[]) {
		for (const { pid, command } of found) {
			this.#leftOver.push(command);
			this.problem(`left over: ${pid} ${command.slice(0, 100)}`);
		}
	}

	time(what: string, value: number, limit: number, of: 'each' | 'median' = 'median', unit = 'ms') {
		const known = this.#measures.find((measure) => measure.what === what);
		if (known) known.values.push(value);
		else this.#measures.push({ what, limit, of, unit, values: [value] });
	}

	expect(met: boolean, problem: string) {
		if (!met) this.problem(problem);
	}

	problem(problem: string) {
		// The same of many runs is one problem to read.
		const known = this.#problems.findIndex((one) => one.startsWith(problem));
		if (known < 0) this.#problems.push(problem);
	}

	note(note: string) {
		this.#notes.push(note);
	}

	result({ name, must }: Row, seconds: number): Result {
		const measures = this.#measures.map((measure) => {
			const sorted = measure.values.toSorted((a, b) => a - b);
			const median = sorted[Math.floor((sorted.length - 1) / 2)]!;
			const worst = sorted.at(-1)!;
			return {
				...measure,
				median,
				worst,
				met: (measure.of === 'each' ? worst : median) <= measure.limit * this.slack,
			};
		});
		const late = measures
			.filter(({ met }) => !met)
			.map(({ what, of, median, worst, limit, unit }) =>
				of === 'each'
					? `${what}: ${worst.toFixed(0)} ${unit}, and at most ${limit} were allowed`
					: `${what}: ${median.toFixed(0)} ${unit} in the median, and at most ${limit} were allowed`,
			);
		const problems = [...this.#problems, ...late];
		return {
			fault: name,
			must,
			runs: this.runs,
			lost: this.#lost.length,
			doubled: this.#doubled.length,
			leftOver: this.#leftOver.length,
			measures,
			notes: this.#notes,
			problems,
			skipped: this.skipped,
			// A row that ran nothing has shown nothing.
			passed: problems.length === 0 && (this.runs > 0 || this.skipped !== null),
			seconds,
		};
	}
}
