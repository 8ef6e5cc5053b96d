import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Report } from './report.ts';

interface Package {
	version?: string;
	resolved?: string;
	integrity?: string;
	link?: boolean;
	inBundle?: boolean;
	hasInstallScript?: boolean;
}

const AUDIT_LIMIT_MS = 30_000;

/** What ships beside our own code. */
export function dependencies(report: Report) {
	const read = (name: string): unknown =>
		JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));
	const { allowScripts } = read('package.json') as { allowScripts: Record<string, boolean> };
	const { packages } = read('package-lock.json') as { packages: Record<string, Package> };
	const locked = Object.entries(packages).filter(([path]) => path !== '');
	const name = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 13);

	report.begin('dependencies');
	const scripts = locked.filter(([, one]) => one.hasInstallScript).map(([path]) => name(path));
	const unlisted = scripts.filter((one) => !(one in allowScripts));
	report.line('install scripts that package.json does not name', 'none', unlisted.join() || 'none');
	const idle = Object.keys(allowScripts).filter((one) => !scripts.includes(one));
	report.line('names there of packages without one', 'none', idle.join() || 'none');
	const hosts = locked.filter(([, one]) => /^\w+:\/\//.test(one.resolved ?? ''));
	report.line('hosts in the lock file', 'none', hosts.map(([path]) => name(path)).join() || 'none');
	const loose = locked.filter(
		([, { integrity, link, inBundle }]) => !integrity && !link && !inBundle,
	);
	report.line(
		'packages without a checksum',
		'none',
		loose.map(([path]) => name(path)).join() || 'none',
	);
	audit(report);
}

function audit(report: Report) {
	const request = 'npm audit --omit=dev';
	const npm = process.env['npm_execpath'];
	const [command, args] = npm ? [process.execPath, [npm]] : ['npm', []];
	const { stdout, error } = spawnSync(command, [...args, 'audit', '--omit=dev', '--json'], {
		encoding: 'utf8',
		timeout: AUDIT_LIMIT_MS,
	});
	if (error) return report.skip(request, 'none', error.message);
	try {
		const { metadata, statusCode, message } = JSON.parse(stdout) as {
			metadata?: { vulnerabilities: { total: number } };
			statusCode?: number;
			message?: string;
		};
		if (!metadata) {
			const reason = `the registry answers audits with ${statusCode ?? message ?? 'nothing'}`;
			return report.skip(request, 'none', reason);
		}
		report.line(request, 'none', String(metadata.vulnerabilities.total || 'none'));
	} catch {
		report.skip(request, 'none', 'npm did not answer');
	}
}
