/**
 * Everything that must pass, in order: `npm test`. Ends with a table and a line that counts.
 * A word of the first column runs that part alone: `npm run lint`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBrowser } from './browser.ts';

const RESULTS = 'test-results';
const BIN = 'node_modules/.bin';

interface Part {
	name: string;
	commands: string[][];
	/** Where its counts are; without one, each command is one test. */
	report?: string;
	counts?: (report: string) => { passed: number; failed: number };
}

const parts: Part[] = [
	{ name: 'types', commands: [[`${BIN}/svelte-check`, '--fail-on-warnings', '--output', 'human']] },
	{
		name: 'lint',
		commands: [
			[`${BIN}/prettier`, '--check', '--log-level', 'warn', '.'],
			[`${BIN}/eslint`, '-c', 'e2e/eslint.config.js', '.'],
		],
	},
	{
		name: 'unit',
		commands: [
			[
				`${BIN}/vitest`,
				'run',
				'--reporter=default',
				'--reporter=json',
				`--outputFile.json=${RESULTS}/unit.json`,
			],
		],
		report: `${RESULTS}/unit.json`,
		counts: (report) => {
			const { numPassedTests, numFailedTests } = JSON.parse(report) as Record<string, number>;
			return { passed: numPassedTests!, failed: numFailedTests! };
		},
	},
	{
		name: 'e2e',
		commands: [[`${BIN}/playwright`, 'test', '-c', 'e2e']],
		report: `${RESULTS}/e2e.json`,
		counts: (report) => {
			const { stats } = JSON.parse(report) as {
				stats: { expected: number; unexpected: number; flaky: number };
			};
			return { passed: stats.expected, failed: stats.unexpected + stats.flaky };
		},
	},
	{
		name: 'faults',
		commands: [['e2e/faults.ts', '--short']],
		report: `${RESULTS}/faults.json`,
		counts: (report) => JSON.parse(report) as { passed: number; failed: number },
	},
	{
		name: 'attacks',
		commands: [['e2e/attacks.ts', '--short']],
		report: `${RESULTS}/attacks.json`,
		counts: (report) => JSON.parse(report) as { passed: number; failed: number },
	},
];

const wanted = process.argv[2];
if (wanted === undefined || wanted === 'unit' || wanted === 'e2e') ensureBrowser();
mkdirSync(RESULTS, { recursive: true });

const rows = parts.filter(({ name }) => wanted === undefined || name === wanted).map(run);
console.log(
	`\n${'part'.padEnd(8)}${'passed'.padStart(8)}${'failed'.padStart(8)}${'seconds'.padStart(9)}`,
);
for (const { name, passed, failed, seconds } of rows) {
	console.log(
		`${name.padEnd(8)}${String(passed).padStart(8)}${String(failed).padStart(8)}${seconds.toFixed(0).padStart(9)}`,
	);
}
const sum = (key: 'passed' | 'failed') => rows.reduce((total, row) => total + row[key], 0);
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = sum('failed') > 0 || rows.length === 0 ? 1 : 0;

function run({ name, commands, report, counts }: Part) {
	console.log(`\n== ${name}`);
	if (report) rmSync(report, { force: true });
	const began = performance.now();
	let [passed, failed] = [0, 0];
	for (const [script, ...args] of commands) {
		const { status } = spawnSync(process.execPath, [join(process.cwd(), script!), ...args], {
			stdio: 'inherit',
		});
		const counted =
			report && counts && existsSync(report) ? counts(readFileSync(report, 'utf8')) : undefined;
		passed += counted?.passed ?? (status === 0 ? 1 : 0);
		// One that fails without a failing test has still failed.
		failed += Math.max(counted?.failed ?? 0, status === 0 ? 0 : 1);
	}
	return { name, passed, failed, seconds: (performance.now() - began) / 1000 };
}
