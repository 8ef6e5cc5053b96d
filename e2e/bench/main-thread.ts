import type { Browser } from 'playwright';
import { quantile } from './report.ts';

/** What the main thread of a page did. */
export interface Tasks {
	/** Processor time, in ms. */
	busy: number;
	/** By the clock, from the beginning of the work to its end, in ms. */
	elapsed: number;
	/** Lengths of its tasks by the clock, in ms. */
	p99: number;
	longest: number;
}

interface TraceEvent {
	name: string;
	pid: number;
	tid: number;
	dur?: number;
	/** Processor time. */
	tdur?: number;
	args: { name?: string };
}

/** Traces the page that works hardest while `work` goes on. Only one should be open. */
export async function tasksDuring(browser: Browser, work: () => Promise<unknown>): Promise<Tasks> {
	await browser.startTracing(undefined, {
		categories: ['-*', 'disabled-by-default-devtools.timeline'],
	});
	const began = performance.now();
	let trace: Buffer;
	let elapsed: number;
	try {
		await work();
	} finally {
		elapsed = performance.now() - began;
		trace = await browser.stopTracing();
	}
	const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] };
	const tasks = new Map<string, { busy: number; lengths: number[] }>();
	const thread = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
	for (const event of traceEvents) {
		if (event.name === 'thread_name' && event.args.name === 'CrRendererMain') {
			tasks.set(thread(event), { busy: 0, lengths: [] });
		}
	}
	for (const event of traceEvents) {
		const found = event.name === 'RunTask' ? tasks.get(thread(event)) : undefined;
		if (!found || event.dur === undefined) continue;
		found.busy += (event.tdur ?? event.dur) / 1000;
		found.lengths.push(event.dur / 1000);
	}
	const busiest = [...tasks.values()].sort((a, b) => b.busy - a.busy)[0];
	if (!busiest) throw new Error('The trace holds no page.');
	const { busy, lengths } = busiest;
	return { busy, elapsed, p99: quantile(lengths, 0.99), longest: quantile(lengths, 1) };
}
