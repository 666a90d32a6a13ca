! SPDX-License-Identifier: MIT
! Modules, contained procedures, several entries; with the runtime linked in statically.
module grid
  implicit none
  type :: cell
    real(8) :: value
    integer :: kind
  contains
    procedure :: weight => cell_weight
  end type
  interface norm
    module procedure norm_real, norm_cells
  end interface
contains
  real(8) function cell_weight(self) result(w)
    class(cell), intent(in) :: self
    w = self%value * self%kind
  end function
  pure real(8) function norm_real(x) result(n)
    real(8), intent(in) :: x(:)
    n = sqrt(sum(x * x))
  end function
  real(8) function norm_cells(c) result(n)
    type(cell), intent(in) :: c(:)
    integer :: i
    n = 0
    do i = 1, size(c)
      n = n + square(c(i)%weight())
    end do
  contains
    real(8) function square(v)
      real(8), intent(in) :: v
      square = v * v + size(c)
    end function
  end function
  subroutine relax(a, steps)
    real(8), intent(inout) :: a(:, :)
    integer, intent(in) :: steps
    integer :: i, j, k
    do k = 1, steps
      do j = 2, size(a, 2) - 1
        do i = 2, size(a, 1) - 1
          a(i, j) = 0.25d0 * (a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1))
        end do
      end do
    end do
  end subroutine
end module

program main
  use grid
  implicit none
  real(8) :: a(64, 64), shared
  type(cell) :: cells(16)
  character(len=80) :: text
  integer :: i
  common /block/ shared
  a = 0
  a(1, :) = 1
  call relax(a, 10)
  do i = 1, size(cells)
    cells(i) = cell(a(i, i), i)
  end do
  write (text, '(f12.6)') norm(cells) + norm(a(:, 2))
  print *, trim(adjustl(text)), matmul(a(1:2, 1:2), a(3:4, 3:4))
end program
