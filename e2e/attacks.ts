/**
 * Tries to get in, and to do harm from inside, against real proxies on loopback: `npm run attacks`.
 *
 *   --short       the one limit in time five times as wide (part of `npm test`)
 *   --only NAME   the parts whose name contains it
 *
 * Prints a table and keeps it in `test-results/attacks.json`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { channels } from './attacks/channels.ts';
import { connections } from './attacks/connections.ts';
import { dependencies } from './attacks/dependencies.ts';
import { foreignPages } from './attacks/foreign-pages.ts';
import { frames } from './attacks/frames.ts';
import { otherUser } from './attacks/other-user.ts';
import { pathsOfSessions } from './attacks/session-paths.ts';
import { reached } from './attacks/reached.ts';
import { Report, table } from './attacks/report.ts';
import { requests } from './attacks/requests.ts';
import { launch, startTarget, type Stage, type Target } from './attacks/stage.ts';
import { tickets } from './attacks/tickets.ts';
import { ensureBrowser } from './browser.ts';

const REPORT = 'test-results/attacks.json';
/** The short form shares its machine with whatever runs there, so it tells slow from stuck only. */
const SHORT_SLACK = 5;
const PUBLIC = 'https://holdfast.test';

const { values } = parseArgs({
	options: {
		short: { type: 'boolean', default: false },
		only: { type: 'string', default: '' },
	},
});

ensureBrowser();
const began = performance.now();
const report = new Report(({ verdict, attack, request, expected, answer }) => {
	if (verdict === 'held') return;
	console.log(`${verdict.padEnd(8)}${attack}: ${request}\n          ${answer}, not ${expected}`);
});

// One is attacked most; one is locked again and again; one is reached by another address.
const [target, locked, published] = await Promise.all([
	startTarget(),
	startTarget(['--demo']),
	startTarget(['--demo'], PUBLIC),
]);
const browser = await launch();
const stage: Stage = { browser, target, slack: values.short ? SHORT_SLACK : 1 };

const parts: Record<string, () => Promise<void>> = {
	requests: () => requests(report, target, locked),
	tickets: () => tickets(report, stage),
	'foreign pages': () => foreignPages(report, stage),
	payloads: () => channels(report, stage),
	frames: () => frames(report, stage),
	'session paths': () => pathsOfSessions(report, stage),
	connections: () => connections(report, stage),
	reached: () => reached(report, stage, published, PUBLIC),
	'other user': () => otherUser(report, published),
	dependencies: async () => dependencies(report),
};
try {
	for (const [name, run] of Object.entries(parts)) {
		if (!name.includes(values.only)) continue;
		const from = performance.now();
		report.begin(name);
		try {
			await run();
		} catch (error) {
			report.broken(error);
		}
		console.log(`${name}: ${((performance.now() - from) / 1000).toFixed(1)} s`);
	}
} finally {
	await browser.close();
	await Promise.all([target, locked, published].map((one: Target) => one.close()));
}

const [passed, failed, skipped] = (['held', 'FAILED', 'skipped'] as const).map((verdict) =>
	report.count(verdict),
);
mkdirSync('test-results', { recursive: true });
writeFileSync(REPORT, JSON.stringify({ passed, failed, skipped, rows: report.lines }, null, '\t'));
console.log(`\n${table(report.lines)}\n`);
if (values.short) console.log(`The limit of 1 s was taken ${SHORT_SLACK} times as wide.`);
console.log(`${((performance.now() - began) / 1000).toFixed(0)} s, ${REPORT}`);
if (skipped! > 0) console.log(`${skipped} skipped, each with its reason above`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed! > 0 || passed === 0 ? 1 : 0;
