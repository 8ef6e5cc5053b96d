import type { Browser } from 'playwright';

/**
 * How a figure is judged. Ratios, growth and amounts of bytes are the same on any machine, so the
 * run fails by them; absolute times depend on the machine and what else it does.
 */
export type Kind = 'ratio' | 'growth' | 'bytes' | 'absolute' | 'for information';

interface Figure {
	row: string;
	what: string;
	kind: Kind;
	unit: string;
	budget: number | null;
	/** The budget is what must be reached, not what must not be exceeded. */
	atLeast: boolean;
	/** One of each run. */
	values: number[];
}

export interface Judged extends Figure {
	value: number;
	verdict: 'met' | 'OVER' | 'over (absolute)' | '';
}

/** A part of the bench that can be run alone. */
export interface Row {
	name: string;
	/** What one run of it shows does not change with another. */
	once?: boolean;
	run(report: Report, browser: Browser): Promise<void>;
}

/** What was measured. Nothing is in it that was not. */
export class Report {
	/** Cost by size, for the chart. */
	series: Record<string, Map<number, number[]>> = {};
	row = '';
	#figures: Figure[] = [];

	ratio(what: string, value: number, budget: number | null) {
		this.#add('ratio', what, value, '×', budget);
	}

	/** A ratio in percent. */
	share(what: string, value: number, budget: number) {
		this.#add('ratio', what, value, '%', budget);
	}

	growth(what: string, value: number, budget: number) {
		this.#add('growth', what, value, '×', budget);
	}

	bytes(what: string, value: number, unit: string, budget: number) {
		this.#add('bytes', what, value, unit, budget);
	}

	/** Something countable that must be reached. */
	reached(what: string, value: number, unit: string, budget: number) {
		this.#add('bytes', what, value, unit, budget, true);
	}

	absolute(what: string, value: number, unit: string, budget: number) {
		this.#add('absolute', what, value, unit, budget);
	}

	note(what: string, value: number, unit: string) {
		this.#add('for information', what, value, unit, null);
	}

	point(series: string, size: number, value: number) {
		const points = (this.series[series] ??= new Map<number, number[]>());
		points.set(size, [...(points.get(size) ?? []), value]);
	}

	judged(): Judged[] {
		return this.#figures.map((figure) => {
			const value = median(figure.values);
			return { ...figure, value, verdict: verdict(figure, value) };
		});
	}

	#add(
		kind: Kind,
		what: string,
		value: number,
		unit: string,
		budget: number | null,
		atLeast = false,
	) {
		if (!Number.isFinite(value)) throw new Error(`${what} could not be measured: ${value}`);
		const { row } = this;
		const known = this.#figures.find((figure) => figure.row === row && figure.what === what);
		if (known) known.values.push(value);
		else this.#figures.push({ row, what, kind, unit, budget, atLeast, values: [value] });
	}
}

function verdict({ kind, budget, atLeast }: Figure, value: number): Judged['verdict'] {
	if (budget === null) return '';
	if (atLeast ? value >= budget : value <= budget) return 'met';
	return kind === 'absolute' ? 'over (absolute)' : 'OVER';
}

export const median = (values: number[]) => quantile(values, 0.5);

export function quantile(values: number[], share: number): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}
