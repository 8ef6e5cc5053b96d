/**
 * Measures what Holdfast costs at any size, against its budgets: `npm run bench`. The real proxy
 * and the built page in headless Chromium, with the real Pi and a scripted provider; recorded Pi
 * records stand in for Pi where it would itself be what is measured.
 *
 *   --only NAME   the rows whose name contains it
 *   --runs N      medians of so many (default 3)
 *
 * Prints a table, writes `test-results/bench.json` and a chart, `test-results/bench.svg`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright';
import { chart } from './bench/chart.ts';
import { proxy } from './bench/proxy.ts';
import { Report, type Row } from './bench/report.ts';
import { idle } from './bench/idle.ts';
import { latency } from './bench/latency.ts';
import { load as firstLoad } from './bench/load.ts';
import { output } from './bench/output.ts';
import { sessions } from './bench/sessions.ts';
import { stream } from './bench/stream.ts';
import { table } from './bench/table.ts';
import { ensureBrowser, launchOptions } from './browser.ts';

const RESULTS = 'test-results';

const { values } = parseArgs({
	options: {
		only: { type: 'string', default: '' },
		runs: { type: 'string', default: '3' },
	},
});
const runs = Number(values.runs);
if (!Number.isInteger(runs) || runs < 1) {
	throw new Error(`--runs takes a whole number from 1, not "${values.runs}".`);
}
const all: Row[] = [...stream, ...latency, ...output, ...idle, ...sessions, ...firstLoad, ...proxy];
const rows = all.filter(({ name }) => name.includes(values.only));
if (rows.length === 0) {
	throw new Error(`--only takes one of: ${all.map(({ name }) => name).join(', ')}.`);
}

ensureBrowser();
const load = () => loadavg()[0]!.toFixed(1);
console.log(`Bench, medians of ${runs}; ${availableParallelism()} cores, load ${load()}\n`);
const report = new Report();
const broken: string[] = [];
for (const row of rows) await measure(row);

const figures = report.judged();
const over = figures.filter(({ verdict }) => verdict === 'OVER');
const series = Object.fromEntries(
	Object.entries(report.series).map(([name, points]) => [name, Object.fromEntries(points)]),
);
mkdirSync(RESULTS, { recursive: true });
writeFileSync(
	`${RESULTS}/bench.json`,
	JSON.stringify({ runs, cores: availableParallelism(), figures, series, broken }, null, '\t'),
);
writeFileSync(`${RESULTS}/bench.svg`, chart(report.series));

console.log(`\n${table(figures)}\n`);
for (const what of broken) console.log(`could not be measured: ${what}`);
console.log(
	`${figures.filter(({ verdict }) => verdict === 'met').length} met, ${over.length} over, ${figures.filter(({ verdict }) => verdict === 'over (absolute)').length} over (absolute); load ${load()}; ${RESULTS}/bench.json, ${RESULTS}/bench.svg`,
);
process.exitCode = over.length > 0 || broken.length > 0 ? 1 : 0;

async function measure(row: Row) {
	report.row = row.name;
	for (let run = 1; run <= (row.once ? 1 : runs); run++) {
		const began = performance.now();
		// A browser of its own for each run: none is warm from another row.
		const browser = await chromium.launch(launchOptions());
		try {
			await row.run(report, browser);
			const seconds = ((performance.now() - began) / 1000).toFixed(1);
			console.log(`${row.name}, run ${run}: ${seconds} s`);
		} catch (error) {
			const { message, stack = '' } = error as Error;
			const where = /bench\/[\w-]+\.ts:\d+/.exec(stack)?.[0] ?? '';
			broken.push(`${row.name}: ${message.split('\n').slice(0, 4).join(' ')} (${where})`);
			console.log(broken.at(-1));
			return;
		} finally {
			await browser.close();
		}
	}
}
