import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scripted } from '../../server/bridge/real-pi.ts';
import { ownPi } from '../../server/bridge/pi-command.ts';
import { expect, ready, withBench } from './bench.ts';
import type { Row, Tally, Tools } from './tally.ts';

const START_LIMIT_MS = 35_000;
const WORDS = Array.from({ length: 120 }, (_, index) => `wörd${index}→`).join(' ');

export const strangePi: Row[] = [
	{
		name: 'Pi silent from the start',
		must: 'said, with what to do',
		run: (tally, tools) =>
			unstartable(tally, tools, 'setInterval(() => {}, 1000);', /did not answer .*--pi/s),
	},
	{
		name: 'garbage instead of a Pi',
		must: 'said, with what to do and its last words',
		run: (tally, tools) =>
			unstartable(
				tally,
				tools,
				`process.stdout.write('Welcome to the wrong machine\\n\\x00\\xff{"type":\\n'); process.exit(3);`,
				/exit code 3.*(--pi|terminal).*Welcome to the wrong machine/s,
			),
	},
	{
		name: 'garbage on the stdout of a real Pi',
		must: 'stream goes on, text right, also when each character comes in pieces',
		run: noisy,
	},
];

/** A Pi of its own making, in the folder of the bench. */
function fakePi(folder: Pick<Scripted, 'cwd'>, source: string) {
	const file = join(folder.cwd, '..', 'fake-pi.mjs');
	writeFileSync(file, source);
	return file;
}

async function unstartable(tally: Tally, { browser }: Tools, source: string, said: RegExp) {
	const flags: string[] = [];
	const prepare = (folder: Scripted) => {
		flags.push('--pi', `'${process.execPath}' '${fakePi(folder, source)}'`);
		return () => {};
	};
	await withBench(
		browser,
		() => [],
		{ prepare, flags, closed: true },
		async ({ page, holdfast }) => {
			const began = performance.now();
			await page.goto(holdfast.url);
			const alert = page.getByRole('alert');
			await expect(alert).toBeVisible({ timeout: START_LIMIT_MS });
			tally.time('said', performance.now() - began, START_LIMIT_MS, 'each');
			const text = (await alert.textContent())!;
			tally.expect(said.test(text), `the page says: ${text}`);
			// And a way on: it may have been mended.
			await expect(alert.getByRole('button').first()).toBeEnabled();
			tally.runs++;
		},
	);
}

async function noisy(tally: Tally, { browser, times }: Tools) {
	const flags: string[] = [];
	const prepare = (folder: Scripted) => {
		flags.push('--pi', `'${process.execPath}' '${fakePi(folder, noise())}'`);
		return () => {};
	};
	await withBench(
		browser,
		() => [{ text: WORDS, pace: 4 }],
		{ prepare, flags, closed: true },
		async ({ page, ui, holdfast }) => {
			await page.goto(holdfast.url);
			await ready(page);
			for (let run = 0; run < times(1, 5); run++) {
				await ui.send(`Prompt ${run}.`);
				await expect(ui.answers).toHaveCount(run + 1);
				await ui.rested();
				await expect(ui.answers.nth(run)).toHaveText(WORDS);
				tally.runs++;
			}
			await page.reload();
			await expect(ui.answers.last()).toHaveText(WORDS);
			if (holdfast.provider.requests.length !== tally.runs) {
				tally.doubled(`${holdfast.provider.requests.length} requests for ${tally.runs} prompts`);
			}
		},
	);
}

/** Runs the real Pi, puts nonsense between its lines, and writes a few bytes at a time. */
const noise = () => `
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';

const NOISE = ['Warning: something is old\\n', '{"type":\\n', 'null\\n', '[1, 2]\\n', '"text"\\n', '7\\n', '\\n',
	'{"type":"unheard_of","value":1}\\n', '{}\\n', '{"type":"response","id":"nobody","success":true}\\n',
	Buffer.from([0xff, 0xfe, 0x00, 0x0a]), 'x'.repeat(70_000) + '\\n', '\\u2028\\n'];
const pi = spawn(${JSON.stringify(ownPi().command)}, [...${JSON.stringify(ownPi().args)}, ...process.argv.slice(2)], {
	stdio: ['inherit', 'pipe', 'inherit'],
});
let rest = Buffer.alloc(0);
let lines = 0;
pi.stdout.on('data', (chunk) => {
	rest = Buffer.concat([rest, chunk]);
	for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
		const line = rest.subarray(0, end + 1);
		for (let at = 0; at < line.length; at += 37) write(line.subarray(at, at + 37));
		write(Buffer.from(NOISE[lines++ % NOISE.length]));
		rest = rest.subarray(end + 1);
	}
});
function write(bytes) {
	for (let at = 0; at < bytes.length; ) {
		try {
			at += writeSync(1, bytes, at);
		} catch (error) {
			if (error.code !== 'EAGAIN') throw error;
		}
	}
}
process.on('SIGTERM', () => pi.kill());
pi.on('exit', (code) => process.exit(code ?? 1));
`;
