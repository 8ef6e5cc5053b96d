import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromium, type LaunchOptions } from 'playwright';

const PLACES = [
	'/usr/bin/chromium',
	'/usr/bin/chromium-browser',
	'/usr/bin/google-chrome',
	'/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The Chromium to test in: `HOLDFAST_CHROMIUM`, the system's, or Playwright's own. */
export function findBrowser(): string | undefined {
	return [process.env['HOLDFAST_CHROMIUM'], ...PLACES, chromium.executablePath()].find(
		(path) => path !== undefined && path !== '' && existsSync(path),
	);
}

/**
 * Finds a Chromium, or installs one: Debian's where `apt-get` may be used, else Playwright's own.
 * @throws {Error} that says what to do, when neither works
 */
export function ensureBrowser(): string {
	const found = findBrowser();
	if (found) return found;

	console.error('Installing Chromium for the browser tests…');
	const quiet = { stdio: ['ignore', 2, 2] as ['ignore', 2, 2] };
	if (existsSync('/usr/bin/apt-get')) {
		const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
		for (const args of [
			['update', '-qq'],
			['install', '-y', '-qq', '--no-install-recommends', 'chromium'],
		]) {
			const [command, ...rest] = [...sudo, 'apt-get', ...args];
			spawnSync(command!, rest, {
				...quiet,
				env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
			});
		}
	}
	if (!findBrowser())
		spawnSync(process.execPath, ['node_modules/playwright/cli.js', 'install', 'chromium'], quiet);

	const installed = findBrowser();
	if (installed) return installed;
	throw new Error(
		'No Chromium for the browser tests: install one (Debian: apt-get install chromium) or set HOLDFAST_CHROMIUM to its path.',
	);
}

/** How the tests start it: no calls home, and no sandbox where Chromium refuses to have one. */
export const launchOptions = (): LaunchOptions => ({
	executablePath: findBrowser(),
	args: [
		'--disable-background-networking',
		'--disable-component-update',
		'--disable-sync',
		'--no-first-run',
		...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
	],
});
