/**
 * Breaks everything that can break, on the real Pi, and measures what is left: `npm run faults`.
 *
 *   --short       each fault a few times, the limits in time five times as wide (part of `npm test`)
 *   --seed N      makes the same random choices again
 *   --only NAME   the rows whose name contains it
 *
 * Prints a table and keeps it in `test-results/faults.json`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright';
import { ensureBrowser, launchOptions } from './browser.ts';
import { away } from './faults/away.ts';
import { cuts } from './faults/cuts.ts';
import { disk } from './faults/disk.ts';
import { output } from './faults/output.ts';
import { piDies } from './faults/pi-dies.ts';
import { proxyDies } from './faults/proxy-dies.ts';
import { Random } from './faults/random.ts';
import { stops } from './faults/stops.ts';
import { strangePi } from './faults/strange-pi.ts';
import { describe, table } from './faults/table.ts';
import { tabs } from './faults/tabs.ts';
import { Tally, type Result, type Row } from './faults/tally.ts';

const REPORT = 'test-results/faults.json';
/** The short form shares its machine with whatever runs there, so it tells slow from stuck only. */
const SHORT_SLACK = 5;
/** Rows that mostly wait go side by side. */
const LANES = 3;

const { values } = parseArgs({
	options: {
		short: { type: 'boolean', default: false },
		seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
		only: { type: 'string', default: '' },
	},
});
const { short } = values;
const seed = Number(values.seed);
if (!Number.isInteger(seed)) throw new Error(`--seed takes a whole number, not "${values.seed}".`);

const all: Row[] = [
	...strangePi,
	...cuts,
	...away,
	...piDies,
	...proxyDies,
	...stops,
	...tabs,
	...output,
	...disk,
];
const wanted = all.filter(({ name }) => name.includes(values.only));

ensureBrowser();
const began = performance.now();
console.log(
	`Faults, ${short ? 'short' : 'full'} form, seed ${seed}; ${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}\n`,
);
let browser = await chromium.launch(launchOptions());
const results = new Map<Row, Result>();
await inLanes(wanted.filter(({ alone }) => !alone));
for (const row of wanted.filter(({ alone }) => alone)) await run(row);
await browser.close();

const rows = wanted.map((row) => results.get(row)!);
const passed = rows.filter((row) => row.passed && row.skipped === null).length;
const failed = rows.filter((row) => !row.passed).length;
const skipped = rows.length - passed - failed;
mkdirSync('test-results', { recursive: true });
writeFileSync(REPORT, JSON.stringify({ seed, short, passed, failed, skipped, rows }, null, '\t'));

console.log(`\n${table(rows)}\n`);
if (short) console.log(`The limits in time were taken ${SHORT_SLACK} times as wide as shown.`);
console.log(`${((performance.now() - began) / 1000).toFixed(0)} s, seed ${seed}, ${REPORT}`);
if (skipped > 0) console.log(`${skipped} skipped, each with its reason above`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || rows.length === 0 ? 1 : 0;

async function inLanes(rows: Row[]) {
	const waiting = [...rows];
	const lane = async () => {
		for (let row = waiting.shift(); row; row = waiting.shift()) await run(row);
	};
	await Promise.all(Array.from({ length: LANES }, lane));
}

async function run(row: Row) {
	const tally = new Tally(short ? SHORT_SLACK : 1);
	const began = performance.now();
	// One that has crashed fails the rows that used it, not those that follow.
	if (!browser.isConnected()) browser = await chromium.launch(launchOptions());
	const tools = {
		browser,
		random: new Random(seed, row.name),
		times: (few: number, many: number) => (short ? few : many),
	};
	try {
		await row.run(tally, tools);
	} catch (error) {
		tally.problem(readable(error));
	}
	const result = tally.result(row, (performance.now() - began) / 1000);
	results.set(row, result);
	console.log(describe(result));
}

/** Playwright colours its messages and adds what it tried. */
function readable(error: unknown): string {
	const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
	const plain = message.replace(/\u001b\[\d+m/g, '');
	const where = /faults\/[\w-]+\.ts:\d+/.exec(stack)?.[0] ?? '';
	return `${plain.split('\n').slice(0, 8).join(' ').replace(/\s+/g, ' ').slice(0, 600)} (${where})`;
}
