import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright';
import type { ModelRequest, Reply } from '../../server/demo/provider.ts';
import { ownPi } from '../../server/bridge/pi-command.ts';
import { withBench } from '../faults/bench.ts';
import { answered, teachPainted } from './painted.ts';
import { openPage } from './stage.ts';

const RECORDED_PI = fileURLToPath(new URL('recorded-pi.ts', import.meta.url));

const command = (...words: string[]) => words.map((word) => `'${word}'`).join(' ');

/** Lets the real Pi answer a prompt, and a Pi that only repeats that be used: `--pi` for it. */
export async function withRecording(
	browser: Browser,
	play: (request: ModelRequest) => Reply,
	prompt: string,
	use: (flags: string[], records: string[]) => Promise<void>,
) {
	const folder = mkdtempSync(join(tmpdir(), 'holdfast-recording-'));
	const file = join(folder, 'records.jsonl');
	const { command: node, args } = ownPi();
	try {
		const recorder = command(process.execPath, RECORDED_PI, 'record', file, node, ...args);
		await withBench(browser, play, { closed: true, flags: ['--pi', recorder] }, async (bench) => {
			const { page } = await openPage(bench, { prepare: teachPainted });
			await answered(page, prompt);
		});
		const records = readFileSync(file, 'utf8').trimEnd().split('\n');
		await use(['--pi', command(process.execPath, RECORDED_PI, 'play', file)], records);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
