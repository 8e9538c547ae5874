# What has changed in this checkout; sourced by tools that look at changed files only.

# The commit to compare with: where this branch left the main branch, there the last commit but one.
base() {
  local fork
  fork=$(git merge-base HEAD origin/main 2>/dev/null) || fork=$(git rev-parse HEAD)
  [ "$fork" != "$(git rev-parse HEAD)" ] || fork=$(git rev-parse --verify -q HEAD~1) || fork=HEAD
  echo "$fork"
}

# Files changed since $1 whose names match the patterns that follow, newest first.
changed_files() {
  local since=$1
  shift
  {
    git diff --name-only HEAD -- "$@"
    git log --name-only --format= "$since..HEAD" -- "$@"
  } | awk '!seen[$0]++'
}
