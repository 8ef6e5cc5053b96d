import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openBrowser } from './browser.ts';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'holdfast-browser-'))));
afterEach(() => {
	vi.unstubAllEnvs();
	rmSync(folder, { recursive: true });
});

test('no ticket is on the command line of the browser, and it gets there all the same', async () => {
	const opener = join(folder, 'xdg-open');
	writeFileSync(
		opener,
		`#!/bin/sh\necho "$1" > ${folder}/asked.new\nmv ${folder}/asked.new ${folder}/asked\n`,
	);
	chmodSync(opener, 0o755);
	vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`);
	vi.stubEnv('DISPLAY', ':9');

	openBrowser('http://127.0.0.1:4180/#ticket=secret', folder);
	const asked = () => readFileSync(join(folder, 'asked'), 'utf8').trim();
	await expect.poll(asked).toBe(`file://${folder}/open.html`);
	expect(readFileSync(join(folder, 'open.html'), 'utf8')).toContain(
		'url=http://127.0.0.1:4180/#ticket=secret',
	);
	expect(statSync(join(folder, 'open.html')).mode & 0o777).toBe(0o600);
});
