import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const KEPT_MS = 60_000;
const COMMANDS: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
	darwin: ['open'],
	win32: ['cmd', '/c', 'start', ''],
};

/**
 * Opens the user's browser, where there is one. Command lines can be read by every user of the
 * machine, and the ticket in the URL is for one alone: so the browser is given a file that only its
 * owner can read, and which leads there. Whatever fails, the URL was printed as well.
 */
export function openBrowser(url: string, folder: string) {
	if (process.platform === 'linux' && !process.env['DISPLAY'] && !process.env['WAYLAND_DISPLAY'])
		return;
	const file = join(folder, 'open.html');
	rmSync(file, { force: true });
	writeFileSync(file, `<meta http-equiv="refresh" content="0; url=${url}">`, { mode: 0o600 });
	setTimeout(() => rmSync(file, { force: true }), KEPT_MS).unref();

	const [command, ...args] = COMMANDS[process.platform] ?? ['xdg-open'];
	spawn(command, [...args, pathToFileURL(file).href], { stdio: 'ignore', detached: true })
		.on('error', () => {})
		.unref();
}
